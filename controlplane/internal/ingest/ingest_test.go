package ingest_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"modelgate.internal/controlplane/internal/ingest"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
)

func some(n int, now time.Time) []plane.UsageRecord {
	return traffic(rand.New(rand.NewPCG(1, 1)), n, 2, now)
}

func TestTheSameSegmentToTwoReplicasAtOnce(t *testing.T) {
	f := newFixture(t, false)
	records := some(500, f.now)
	for from := 0; from < len(records); from += 100 {
		piece := encode(records[from : from+100])
		var both sync.WaitGroup
		for replica := range f.replicas {
			both.Go(func() {
				if seq, err := f.take(replica, "i", piece); err != nil || seq != uint64(from+100) {
					t.Errorf("replica %d: %d, %v", replica, seq, err)
				}
			})
		}
		both.Wait()
	}
	check(t, f, 0, records)
}

func TestGaps(t *testing.T) {
	f := newFixture(t, false)
	records := some(20, f.now)
	gap := func(want ingest.GapError, lines []byte) {
		t.Helper()
		_, err := f.take(0, "i", lines)
		e, ok := errors.AsType[*ingest.GapError](err)
		if !ok || e.Expected != want.Expected || e.Got != want.Got || e.Stored != want.Stored {
			t.Errorf("want %+v, got %v", want, err)
		}
	}
	gap(ingest.GapError{Expected: 1, Got: 5}, encode(records[4:8]))
	if seq, err := f.take(0, "i", encode(records[:4])); err != nil || seq != 4 {
		t.Fatal(seq, err)
	}
	gap(ingest.GapError{Expected: 5, Got: 7, Stored: 4}, encode(records[6:8]))
	inside := append(encode(records[4:6]), encode(records[7:9])...)
	gap(ingest.GapError{Expected: 7, Got: 8, Stored: 4}, inside)
	backwards := append(encode(records[5:6]), encode(records[4:5])...)
	gap(ingest.GapError{Expected: 7, Got: 5, Stored: 4}, backwards)
	check(t, f, 0, records[:4])
	if seq, err := f.take(0, "another", encode(records[:2])); err != nil || seq != 2 {
		t.Errorf("another incarnation: %d, %v", seq, err)
	}
}

func TestBadRecordsAreSetAsideAndHoldUpNothing(t *testing.T) {
	f := newFixture(t, true)
	records := some(13, f.now)
	lines := bytes.SplitAfter(encode(records), []byte("\n"))
	spoil := func(i int, old, text string) {
		was := string(lines[i])
		if lines[i] = []byte(strings.Replace(was, old, text, 1)); string(lines[i]) == was {
			t.Fatalf("%q is not in %s", old, was)
		}
	}
	lines[0] = []byte("{nonsense\n")
	spoil(1, `"seq":2`, `"seq":"2"`)
	spoil(2, `"status":`, `"status":1`)
	spoil(3, `"at":"2026`, `"at":"1970`)
	spoil(4, `"at":"2026`, `"at":"2027`)
	spoil(5, `"tokens_in":`, `"tokens_in":-1`)
	spoil(6, `"end":"`, `"end":"un`)
	spoil(7, `"model":"`, `"model":"\u0000`)
	spoil(8, `"key_id":"`, `"key_id":"x`)
	spoil(9, `"model":"`, `"model":"`+strings.Repeat("x", ingest.RecordBytesMax))
	lines[10] = []byte("\n")
	spoil(11, `"took":`, `"took":9999999`)
	seq, err := f.take(0, "i", bytes.Join(lines, nil))
	if err != nil || seq != 13 {
		t.Fatalf("acknowledged %d, %v", seq, err)
	}
	check(t, f, 0, records[12:])
	rows, err := f.db.Query(t.Context(), "SELECT seq, reason, body, times, whole FROM usage_rejected ORDER BY seq")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	want := int64(1)
	for ; rows.Next(); want++ {
		var (
			seq, times int64
			reason     string
			body       []byte
			whole      bool
		)
		if err := rows.Scan(&seq, &reason, &body, &times, &whole); err != nil {
			t.Fatal(err)
		}
		t.Logf("%d: %s", seq, reason)
		kept := bytes.TrimSuffix(lines[seq-1], []byte("\n"))
		if seq != want || reason == "" || times != 1 || whole || !bytes.Equal(body, kept[:min(len(kept), ingest.RecordBytesMax)]) {
			t.Errorf("kept seq %d, want %d: %s; %q", seq, want, reason, body)
		}
	}
	if want != 13 {
		t.Errorf("%d records set aside", want-1)
	}
	if got := f.counter("modelgate_usage_records_total", "rejected"); got != 12 {
		t.Errorf("%v rejected by the counter", got)
	}
}

func TestSegmentsThatCannotBeRead(t *testing.T) {
	f := newFixture(t, false)
	good := compress(encode(some(100, f.now)))
	bomb := compress(bytes.Repeat([]byte("a"), ingest.DecodedBytesMax+1))
	tests := map[string]struct {
		body []byte
		kind apierr.Kind
		kept bool
	}{
		"no zstd":          {[]byte("hello"), apierr.BadRequest, true},
		"cut off":          {good[:len(good)/2], apierr.BadRequest, true},
		"empty":            {compress(nil), apierr.BadRequest, true},
		"nothing":          {nil, apierr.BadRequest, true},
		"no number at all": {compress([]byte("x\ny\n")), apierr.BadRequest, true},
		"a bomb":           {bomb, apierr.TooLarge, false},
		"a large one":      {make([]byte, plane.SegmentBytesMax+1), apierr.TooLarge, false},
		"too many":         {compress(bytes.Repeat([]byte("x\n"), plane.SegmentRecordsMax+1)), apierr.TooLarge, false},
	}
	for name, tt := range tests {
		u := f.upload(strings.ReplaceAll(name, " ", "-"))
		for range 2 {
			if _, err := f.replicas[0].Take(t.Context(), u, bytes.NewReader(tt.body)); apierr.From(err).Kind != tt.kind {
				t.Errorf("%s: %v", name, err)
			}
		}
		kept := f.number("SELECT COALESCE(sum(times), 0)::INT8 FROM usage_rejected WHERE whole AND incarnation = $1", u.Incarnation)
		if want := map[bool]int64{true: 2}[tt.kept]; kept != want {
			t.Errorf("%s: kept %d times", name, kept)
		}
	}
	broken := bytes.NewReader(good)
	if _, err := f.replicas[0].Take(t.Context(), f.upload("i"), &breaking{broken}); apierr.From(err).Kind != apierr.BadRequest {
		t.Errorf("a connection that broke: %v", err)
	}
	for _, u := range []ingest.Upload{{Incarnation: ""}, {Incarnation: "a b"}, {Incarnation: strings.Repeat("x", 65)}, {Incarnation: "i", Segment: 1 << 63}} {
		u.NodeID = f.node
		if _, err := f.replicas[0].Take(t.Context(), u, bytes.NewReader(good)); apierr.From(err).Kind != apierr.BadRequest {
			t.Errorf("%+v: %v", u, err)
		}
	}
	if n := f.number("SELECT count(*) FROM usage_day"); n != 0 {
		t.Errorf("%d rollups of nothing", n)
	}
	if seq, err := f.take(0, "i", encode(some(100, f.now))); err != nil || seq != 100 { // the decoder is still good
		t.Errorf("afterwards: %d, %v", seq, err)
	}
}

// breaking is a body whose connection breaks before its end.
type breaking struct{ *bytes.Reader }

func (b *breaking) Read(p []byte) (int, error) {
	if b.Len() < 200 {
		return 0, errors.New("connection reset")
	}
	return b.Reader.Read(p[:min(len(p), 100)])
}

func TestWhatCounts(t *testing.T) {
	f := newFixture(t, false)
	base := some(1, f.now)[0]
	base.Status, base.End, base.Sandbox, base.AppID = 200, plane.EndDone, false, uuid.NewString()
	tests := []struct {
		status        int
		end           string
		sandbox       bool
		errors, quota int64
	}{
		{200, plane.EndDone, false, 0, 1},
		{200, plane.EndDone, true, 0, 0},
		{200, plane.EndClientGone, false, 0, 1},
		{200, plane.EndUpstreamCut, false, 1, 1},
		{200, plane.EndRevoked, false, 1, 1},
		{429, plane.EndRefused, false, 1, 0},
		{403, plane.EndRefused, false, 1, 0},
		{404, plane.EndRefused, false, 1, 0},
		{502, plane.EndFailed, false, 1, 0}, // given back
		{503, plane.EndFailed, false, 1, 0},
		{400, plane.EndFailed, false, 1, 1}, // the upstream was asked
	}
	for i, tt := range tests {
		r := base
		r.Seq, r.Status, r.End, r.Sandbox, r.AccountID = 1, tt.status, tt.end, tt.sandbox, uuid.NewString()
		if _, err := f.take(0, fmt.Sprint(i), encode([]plane.UsageRecord{r})); err != nil {
			t.Fatal(err)
		}
		failures := f.number("SELECT errors FROM usage_hour WHERE account_id = $1", r.AccountID)
		quota := f.number("SELECT COALESCE(sum(calls), 0)::INT8 FROM usage_account_day WHERE account_id = $1", r.AccountID)
		if failures != tt.errors || quota != tt.quota {
			t.Errorf("%+v: %d errors, %d of the quota", tt, failures, quota)
		}
	}
	if n := f.number("SELECT count(*) FROM usage_day WHERE status = 404 AND model <> ''"); n != 0 {
		t.Error("a model that is only a claim is kept")
	}
}

func TestKeysAreMarkedUsedForwardOnly(t *testing.T) {
	f := newFixture(t, false)
	developer, key := uuid.NewString(), uuid.NewString()
	for _, sql := range []string{
		`INSERT INTO developers (id, name, email, password_hash, plan, created_at) VALUES ($1, 'Ada', 'ada@example.com', 'x', 'free', now())`,
		`INSERT INTO api_keys (id, developer_id, kind, hint, name, scopes, metadata, created_at)
			VALUES ('` + key + `', $1, 'darwin', 'x', 'x', '{}', '{}', now())`,
	} {
		if _, err := f.db.Exec(t.Context(), sql, developer); err != nil {
			t.Fatal(err)
		}
	}
	r := some(1, f.now)[0]
	r.KeyID = key
	for i, tt := range []struct{ at, want time.Duration }{
		{-2 * time.Hour, -2 * time.Hour},
		{-3 * time.Hour, -2 * time.Hour},
		{-time.Hour, -time.Hour},
		{time.Hour, 0}, // the node's clock is ahead
	} {
		r.At = f.now.Add(tt.at)
		if _, err := f.take(0, fmt.Sprint(i), encode([]plane.UsageRecord{r})); err != nil {
			t.Fatal(err)
		}
		var used time.Time
		if err := f.db.QueryRow(t.Context(), "SELECT last_used_at FROM api_keys WHERE id = $1", key).Scan(&used); err != nil {
			t.Fatal(err)
		}
		if !used.Equal(f.now.Add(tt.want)) {
			t.Errorf("used %s, want %s", used, f.now.Add(tt.want))
		}
	}
}
