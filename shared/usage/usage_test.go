package usage

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"modelgate.internal/shared/plane"
)

func sample(i int) plane.UsageRecord {
	return plane.UsageRecord{
		RequestID: "01JD4V9Y3KQ8M2N7P5RT", At: time.Unix(1_700_000_000, int64(i)).UTC(), AccountID: "a", DeveloperID: "d", AppID: "b", KeyID: "k",
		Endpoint: "agent", Model: "Darwin", Task: "conversation", Backend: "upstream", Status: 200 + i, End: plane.EndDone,
		Source: plane.SourceProvider, TokensIn: int64(i), TokensOut: 7, TTFT: time.Millisecond, Took: time.Second, Sandbox: i%2 == 0,
	}
}

// frames returns records from first on, as they are in a file of the incarnation.
func frames(incarnation string, first uint64, records ...plane.UsageRecord) (b []byte) {
	var room [RecordBytesMax]byte
	for i := range records {
		clear(room[:])
		n := Put(room[:], Seed(incarnation), first+uint64(i), &records[i])
		b = append(b, room[:n]...)
	}
	return b
}

func TestUploadIsReadAsItWasWritten(t *testing.T) {
	records := []plane.UsageRecord{sample(0), sample(1), sample(2)}
	upload := append(AppendPrologue(nil, Origin{"first-life", 40}, &Statement{}), frames("first-life", 41, records...)...)
	for _, cut := range []int{0, 1} { // the padding behind the last record need not be there
		r, err := NewReader(bytes.NewReader(upload[:len(upload)-cut]))
		if err != nil {
			t.Fatal(err)
		}
		for i := range records {
			number, payload, err := r.Next()
			if err != nil || number != uint64(i+1) {
				t.Fatalf("record %d: number %d, %v", i+1, number, err)
			}
			got, err := Decode(payload, number)
			want := records[i]
			want.Seq = number
			if err != nil || got != want {
				t.Errorf("%+v became %+v, %v", want, got, err)
			}
		}
		if _, _, err := r.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("behind the last record: %v", err)
		}
	}
}

// A byte that was changed, wherever it is, is found; in the padding it does not matter.
func TestChangedByteOfAnUploadIsFound(t *testing.T) {
	record := sample(1)
	upload := append(AppendPrologue(nil, Origin{Incarnation: "life"}, &Statement{}), frames("life", 1, record)...)
	payload := PrologueBytes + FrameBytes + len(appendPayload(nil, &record))
	for at := range upload {
		changed := bytes.Clone(upload)
		changed[at] ^= 0x10
		r, err := NewReader(bytes.NewReader(changed))
		if err == nil {
			_, _, err = r.Next()
		}
		padding := at >= payload
		if found := errors.Is(err, ErrForm) || errors.Is(err, ErrDamaged); found == padding {
			t.Errorf("byte %d changed: %v", at, err)
		}
	}
}

func TestUploadThatIsNone(t *testing.T) {
	for _, text := range []string{"", "{\"seq\":1}\n", strings.Repeat("mgusage2", 10)} {
		if _, err := NewReader(strings.NewReader(text)); !errors.Is(err, ErrForm) {
			t.Errorf("%q: %v", text, err)
		}
	}
	broken := errors.New("reset")
	if _, err := NewReader(io.MultiReader(strings.NewReader("mg"), &failing{broken})); !errors.Is(err, broken) {
		t.Errorf("a reader that breaks: %v", err)
	}
	early := append(AppendPrologue(nil, Origin{"life", 5}, &Statement{}), frames("life", 5, sample(0))...)
	r, err := NewReader(bytes.NewReader(early))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.Next(); !errors.Is(err, ErrDamaged) {
		t.Errorf("a record without a number: %v", err)
	}
}

type failing struct{ err error }

func (f *failing) Read([]byte) (int, error) { return 0, f.err }

// What is stated is what the records say, and no byte of it can be changed unnoticed.
func TestStatement(t *testing.T) {
	records := []plane.UsageRecord{sample(0), sample(1), sample(2), sample(3)}
	records[2].KeyID = "another"
	records[3].At = records[3].At.AddDate(0, 0, 1)
	var stated Statement
	for i := range records {
		stated.Add(appendPayload(nil, &records[i]))
	}
	stated.Add([]byte{recordForm, 200, 1}) // decodes to nothing
	day := records[0].At.Truncate(24 * time.Hour).Unix()
	want := map[StatedLine]bool{
		{Account: "a", App: "b", Key: "k", Day: day, Calls: 2, TokensIn: 1, TokensOut: 14}:         true,
		{Account: "a", App: "b", Key: "another", Day: day, Calls: 1, TokensIn: 2, TokensOut: 7}:    true,
		{Account: "a", App: "b", Key: "k", Day: day + 86_400, Calls: 1, TokensIn: 3, TokensOut: 7}: true,
	}
	upload := AppendPrologue(nil, Origin{Incarnation: "life"}, &stated)
	r, err := NewReader(bytes.NewReader(upload))
	if err != nil || len(r.Stated()) != len(want) {
		t.Fatalf("%+v, %v", r, err)
	}
	for _, l := range r.Stated() {
		if !want[l] {
			t.Errorf("stated %+v", l)
		}
	}
	for at := range upload {
		changed := bytes.Clone(upload)
		changed[at] ^= 0x10
		if _, err := NewReader(bytes.NewReader(changed)); !errors.Is(err, ErrForm) {
			t.Errorf("byte %d changed: %v", at, err)
		}
		if _, err := NewReader(bytes.NewReader(upload[:at])); !errors.Is(err, ErrForm) {
			t.Errorf("cut at %d: %v", at, err)
		}
	}
	stated.Reset()
	if len(stated.append(nil)) != 0 {
		t.Error("not empty after Reset")
	}
	for nanos, day := range map[int64]int64{0: 0, -1: -1, nanosPerDay: 1, -nanosPerDay: -1, nanosPerDay - 1: 0} {
		if floorDay(nanos) != day {
			t.Errorf("day of %d is %d", nanos, floorDay(nanos))
		}
	}
}

func BenchmarkStatement(b *testing.B) {
	r := sample(1)
	payload := appendPayload(nil, &r)
	var stated Statement
	for b.Loop() {
		stated.Add(payload)
	}
}

func TestRecordBound(t *testing.T) {
	long := string(make([]byte, 10_000))
	r := plane.UsageRecord{
		RequestID: long, At: time.Unix(1<<33, 0), AccountID: long, DeveloperID: long, AppID: long, KeyID: long, Endpoint: long,
		Model: long, Task: long, Backend: long, Status: -1 << 62, End: long, Source: long, TokensIn: -1 << 63, TokensOut: -1 << 63,
		TTFT: -1 << 63, Took: -1 << 63,
	}
	if n := FrameBytes + len(appendPayload(nil, &r)); n > RecordBytesMax {
		t.Errorf("a record of %d bytes", n)
	}
}

func FuzzRecord(f *testing.F) {
	f.Add([]byte{}, uint64(1))
	f.Add(appendPayload(nil, &plane.UsageRecord{RequestID: "x", At: time.Unix(0, 5), Sandbox: true}), uint64(7))
	f.Fuzz(func(t *testing.T, payload []byte, seq uint64) {
		r, err := Decode(payload, seq)
		if err != nil {
			return
		}
		if !utf8.ValidString(r.RequestID + r.Model + r.Source) {
			t.Errorf("a text that is not UTF-8: %+v", r)
		}
		again, err := Decode(appendPayload(nil, &r), seq)
		if err != nil || again != r {
			t.Errorf("%+v became %+v, %v", r, again, err)
		}
	})
}

func FuzzReader(f *testing.F) {
	upload := append(AppendPrologue(nil, Origin{"life", 2}, &Statement{}), frames("life", 3, sample(0), sample(1))...)
	f.Add(upload[PrologueBytes:], uint64(2))
	f.Add(upload[PrologueBytes:len(upload)-9], uint64(0))
	f.Fuzz(func(t *testing.T, data []byte, before uint64) {
		r, err := NewReader(bytes.NewReader(append(AppendPrologue(nil, Origin{"life", before}, &Statement{}), data...)))
		if err != nil {
			t.Fatal(err)
		}
		read := 0
		for {
			number, payload, err := r.Next()
			if err != nil {
				return
			}
			if read += FrameBytes + len(payload); number == 0 || len(payload) == 0 || read > len(data) {
				t.Fatalf("record %d of %d bytes, %d read of %d", number, len(payload), read, len(data))
			}
		}
	})
}
