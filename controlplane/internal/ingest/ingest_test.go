package ingest_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"modelgate.internal/controlplane/internal/ingest"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/usage"
	"modelgate.internal/shared/usage/usagetest"
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

// Two processes that are given one name are one node to the control plane. Each counts from 1, under an incarnation of its own.
func TestTwoNodesOfOneName(t *testing.T) {
	f := newFixture(t, false)
	first, second := some(200, f.now), traffic(rand.New(rand.NewPCG(2, 2)), 200, 2, f.now)
	for from := 0; from < len(first); from += 50 {
		var both sync.WaitGroup
		for n, records := range [][]plane.UsageRecord{first, second} {
			both.Go(func() {
				if seq, err := f.take(n, fmt.Sprint("life-", n), encode(records[from:from+50])); err != nil || seq != uint64(from+50) {
					t.Errorf("process %d: %d, %v", n, seq, err)
				}
			})
		}
		both.Wait()
	}
	check(t, f, 0, slices.Concat(first, second))
}

func TestGaps(t *testing.T) {
	f := newFixture(t, false)
	records := some(20, f.now)
	gap := func(want ingest.GapError, upload []byte) {
		t.Helper()
		_, err := f.take(0, "i", upload)
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
	inside := encode(append(slices.Clone(records[4:6]), records[7:9]...))
	gap(ingest.GapError{Expected: 7, Got: 8, Stored: 4}, inside)
	backwards := encode([]plane.UsageRecord{records[5], records[4]})
	gap(ingest.GapError{Expected: 7, Got: 5, Stored: 4}, backwards)
	check(t, f, 0, records[:4])
	if seq, err := f.take(0, "another", encode(records[:2])); err != nil || seq != 2 {
		t.Errorf("another incarnation: %d, %v", seq, err)
	}
}

func TestBadRecordsAreSetAsideAndHoldUpNothing(t *testing.T) {
	f := newFixture(t, true)
	records := some(12, f.now)
	for i, spoil := range []func(r *plane.UsageRecord){
		func(r *plane.UsageRecord) { r.Status = 1200 },
		func(r *plane.UsageRecord) { r.At = time.Unix(0, 0) },
		func(r *plane.UsageRecord) { r.At = r.At.AddDate(1, 0, 0) },
		func(r *plane.UsageRecord) { r.TokensIn = -1 },
		func(r *plane.UsageRecord) { r.End = "undone" },
		func(r *plane.UsageRecord) { r.Source = "guessed" },
		func(r *plane.UsageRecord) { r.Model = "\x00" },
		func(r *plane.UsageRecord) { r.KeyID = "x" },
		func(r *plane.UsageRecord) { r.AppID = "x" },
		func(r *plane.UsageRecord) { r.Took = 365 * 24 * time.Hour },
	} {
		spoil(&records[i])
	}
	// The last but one is of a form that this version does not know.
	upload := encode(records[:10])
	upload = append(upload, foreign(11)...)
	upload = append(upload, usagetest.Frame(&records[11])...)
	seq, err := f.take(0, "i", upload)
	if err != nil || seq != 12 {
		t.Fatalf("acknowledged %d, %v", seq, err)
	}
	check(t, f, 0, records[11:])
	if n := f.number("SELECT sum(calls)::INT8 FROM usage_edge_day"); n != 10 { // of records 1 to 10; the difference to what is counted shows that they were set aside
		t.Errorf("the node stated %d calls", n)
	}
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
		kept := []byte{9}
		if seq <= 10 {
			kept, err = json.Marshal(&records[seq-1])
			if err != nil {
				t.Fatal(err)
			}
		}
		if seq != want || reason == "" || times != 1 || whole || !bytes.Equal(body, kept) {
			t.Errorf("kept seq %d, want %d: %s; %q", seq, want, reason, body)
		}
	}
	if want != 12 {
		t.Errorf("%d records set aside", want-1)
	}
	if got := f.counter("modelgate_usage_records_total", "rejected"); got != 11 {
		t.Errorf("%v rejected by the counter", got)
	}
}

// foreign is a whole record whose payload is one byte that begins no known form.
func foreign(seq uint64) []byte {
	b := binary.LittleEndian.AppendUint64(nil, seq)
	b = append(b, 9)
	sum := crc32.Update(usage.Seed("usagetest")^1, crc32.MakeTable(crc32.Castagnoli), b)
	frame := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, 1), sum)
	return append(append(frame, b...), make([]byte, 7)...)
}

func TestSegmentsThatCannotBeRead(t *testing.T) {
	f := newFixture(t, false)
	good := compress(encode(some(100, f.now)))
	large := some(ingest.DecodedBytesMax/2_000, f.now)
	for i := range large {
		large[i].RequestID = strings.Repeat("x", ingest.TextBytesMax)
		large[i].DeveloperID, large[i].Endpoint, large[i].Model = large[i].RequestID, large[i].RequestID, large[i].RequestID
		large[i].AccountID, large[i].AppID, large[i].KeyID, large[i].Task = large[i].RequestID, large[i].RequestID, large[i].RequestID, large[i].RequestID
	}
	damaged := encode(some(3, f.now))
	damaged[len(damaged)/2]++
	late := some(1, f.now)
	late[0].Seq = ingest.SeqMax + 1
	tests := map[string]struct {
		body []byte
		kind apierr.Kind
		kept bool
	}{
		"no zstd":        {[]byte("hello"), apierr.BadRequest, true},
		"cut off":        {good[:len(good)/2], apierr.BadRequest, true},
		"empty":          {compress(nil), apierr.BadRequest, true},
		"nothing":        {nil, apierr.BadRequest, true},
		"another form":   {compress([]byte(`{"seq":1}`)), apierr.BadRequest, true},
		"no records":     {compress(encode(nil)), apierr.BadRequest, true},
		"a changed byte": {compress(damaged), apierr.BadRequest, true},
		"too high":       {compress(encode(late)), apierr.BadRequest, true},
		"a bomb":         {compress(encode(large)), apierr.TooLarge, false},
		"a large one":    {make([]byte, plane.SegmentBytesMax+1), apierr.TooLarge, false},
		"too many":       {compress(encode(some(plane.SegmentRecordsMax+1, f.now))), apierr.TooLarge, false},
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
		{200, plane.EndNodeCrash, false, 1, 1},
		{500, plane.EndNodeCrash, false, 1, 0}, // before its answer began
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

// The clock of a node steps back and forth across the end of the UTC day. The day of a call is that of its record, whichever order
// records come in.
func TestClockStepsAcrossTheDay(t *testing.T) {
	f := newFixture(t, true)
	midnight := time.Date(2026, 3, 15, 0, 0, 0, 0, time.UTC)
	f.now = midnight.Add(-time.Minute)
	base := some(1, f.now)[0]
	base.Status, base.End, base.Sandbox, base.AppID = 200, plane.EndDone, false, uuid.NewString()
	var records []plane.UsageRecord
	for i, at := range []time.Duration{-2 * time.Second, time.Second, -time.Nanosecond, 0, -time.Hour, 3 * time.Hour} {
		r := base
		r.Seq, r.At = uint64(i+1), midnight.Add(at)
		records = append(records, r)
	}
	for _, part := range [][]plane.UsageRecord{records[:4], records[2:]} { // two uploads overlap
		if _, err := f.take(0, "i", encode(part)); err != nil {
			t.Fatal(err)
		}
	}
	for day, want := range map[time.Time]int64{midnight.Add(-24 * time.Hour): 3, midnight: 3} {
		quota := f.number("SELECT calls FROM usage_account_day WHERE account_id = $1 AND day = $2", base.AccountID, day)
		counted := f.number("SELECT sum(calls)::INT8 FROM usage_day WHERE key_id = $1 AND bucket = $2", base.KeyID, day)
		stated := f.number("SELECT sum(calls)::INT8 FROM usage_edge_day WHERE key_id = $1 AND bucket = $2", base.KeyID, day)
		if quota != want || counted != want || stated != want {
			t.Errorf("%s: %d of the quota, %d counted, %d stated by the node, want %d each", day, quota, counted, stated, want)
		}
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
