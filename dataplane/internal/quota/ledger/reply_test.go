package ledger

import (
	"reflect"
	"testing"
)

func TestRepliesSurviveTheWire(t *testing.T) {
	r := Reply{Node: 1 << 63, Incarnation: 7, Seq: 9, Status: Accepted, Newest: 8, Grants: []Grant{
		{ID: ID{Kind: KeyMinute, Hi: 1 << 60, Lo: 3}, Granted: 5, Limit: 30, Avail: -12, RetryMS: 60_000, FreesMS: 1, Pend: true},
		{ID: ID{Kind: AccountDay, Lo: 3}, Avail: LimitMax, Unknown: true},
		{ID: ID{Kind: AccountDay, Lo: 4}, SeedDay: 20_000, Wait: true},
	}}
	got, err := DecodeReply(AppendReply(nil, &r))
	if err != nil || !reflect.DeepEqual(got, r) {
		t.Errorf("%+v, %v", got, err)
	}
	c := Recall{Node: 3, Incarnation: 1 << 62, ID: r.Grants[0].ID}
	if got, err := DecodeRecall(AppendRecall(nil, &c)); err != nil || got != c {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestALiteralClassIsItsLimit(t *testing.T) {
	s := New(DefaultPolicy())
	id := ID{Kind: KeyMinute, Lo: 1}
	ask := func(seq, seen uint64, limit, hold int64) Grant {
		res, err := s.Apply(AppendEntry(nil, &Entry{At: 1000 + int64(seq), Frames: []Frame{
			{Node: 1, Incarnation: 1, Seq: seq, Records: []Record{{ID: id, Class: Literal(limit), Seen: seen, Hold: hold}}},
		}}))
		if err != nil {
			t.Fatal(err)
		}
		return res.Replies[0].Grants[0]
	}
	if g := ask(1, 5, 30, 0); g.Limit != 30 || g.Unknown {
		t.Errorf("%+v", g)
	}
	if g := ask(2, 6, 120, 0); g.Limit != 120 || g.Avail != 120 {
		t.Errorf("a newer version does not count: %+v", g)
	}
	if g := ask(3, 5, 10_000, 0); g.Limit != 120 {
		t.Errorf("an older version counts: %+v", g)
	}
	if g := ask(4, 6, 60, 0); g.Limit != 60 {
		t.Errorf("at the same version the higher limit counts: %+v", g)
	}
	if g := ask(5, 7, 1<<40, 0); g.Limit != LimitMax {
		t.Errorf("%+v", g)
	}
}

func FuzzDecodeReply(f *testing.F) {
	f.Add(AppendReply(nil, &Reply{Node: 1, Grants: []Grant{{ID: ID{Kind: KeyMinute, Lo: 1}, Avail: -1}}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := DecodeReply(b); err == nil {
			if again, err := DecodeReply(AppendReply(nil, &r)); err != nil || !reflect.DeepEqual(again, r) {
				t.Errorf("%+v became %+v, %v", r, again, err)
			}
		}
	})
}
