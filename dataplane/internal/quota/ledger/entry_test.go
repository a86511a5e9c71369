package ledger

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"
)

func TestEntriesSurviveEncoding(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 2000 {
		e := randomEntry(r, start+int64(i))
		for j := range e.Commands { // fields that a command of its kind does not have
			c := &e.Commands[j]
			switch c.Kind {
			case SetClass:
				c.ID, c.Node = ID{}, 0
			case SetOverride:
				c.Class, c.Node = 0, 0
			case ClearOverride:
				c.Class, c.Node, c.Max = 0, 0, 0
			case SeedDays:
				*c = Command{Kind: c.Kind, Version: c.Version}
			default:
				*c = Command{Kind: c.Kind, Node: c.Node, Version: c.Version}
			}
		}
		got, err := DecodeEntry(AppendEntry(nil, &e))
		if err != nil || !reflect.DeepEqual(got, e) {
			t.Fatalf("%v\n got %+v\nwant %+v", err, got, e)
		}
	}
}

// What this build does not know halts the replica and leaves the state alone.
func TestUnknownEntriesHalt(t *testing.T) {
	w := newWorld(t, 30)
	w.ask(1, Record{ID: key(1), Class: 1, Hold: 5})
	before := snapshotOf(t, w.s)
	good := AppendEntry(nil, &Entry{At: start + 1000, Frames: []Frame{{Node: 1, Incarnation: 1, Seq: 9, Records: []Record{{ID: key(1), Class: 1}}}}})
	bad := map[string][]byte{
		"version":  append([]byte{entryVersion + 1}, good[1:]...),
		"kind":     bytes.Replace(good, []byte{byte(KeyMinute), 1, 1, 0, 0, 0, 0}, []byte{9, 1, 1, 0, 0, 0, 0}, 1),
		"command":  append(append([]byte{entryVersion}, good[1:7]...), 1, 99, 0, 0),
		"empty":    {},
		"short":    good[:len(good)-1],
		"trailing": append(bytes.Clone(good), 0),
		"padding":  append([]byte{entryVersion, 0x80, 0x00}, 0, 0),
	}
	for name, b := range bad {
		var halt *HaltError
		if _, err := w.s.Apply(b); !errors.As(err, &halt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !bytes.Equal(before, snapshotOf(t, w.s)) {
		t.Error("an entry that halts changed the state")
	}
	if _, err := w.s.Apply(good); err != nil {
		t.Error(err)
	}
}

func TestHostileFramesAreRefused(t *testing.T) {
	ok := Frame{Node: 1, Incarnation: 1, Seq: 1, Records: []Record{{ID: key(1), Hold: LimitMax}}}
	if _, err := DecodeFrame(AppendFrame(nil, &ok)); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(f *Frame){
		"no node":        func(f *Frame) { f.Node = 0 },
		"no incarnation": func(f *Frame) { f.Incarnation = 0 },
		"no sequence":    func(f *Frame) { f.Seq = 0 },
		"kind":           func(f *Frame) { f.Records[0].ID.Kind = 9 },
		"hold":           func(f *Frame) { f.Records[0].Hold = LimitMax + 1 },
		"used":           func(f *Frame) { f.Records[0].Used = -1 },
		"void":           func(f *Frame) { f.Records[0].Void = counterMax + 1 },
		"records":        func(f *Frame) { f.Records = make([]Record, FrameRecordsMax+1) },
	} {
		f := ok
		f.Records = []Record{ok.Records[0]}
		change(&f)
		if _, err := DecodeFrame(AppendFrame(nil, &f)); err == nil {
			t.Errorf("%s: accepted", name)
		}
		if f.Check() == nil {
			t.Errorf("%s: checked", name)
		}
	}
}

// FuzzDecode demands that no input panics and that what decodes encodes to itself and can be applied.
func FuzzDecode(f *testing.F) {
	r := rand.New(rand.NewPCG(2, 2))
	for i := range 20 {
		e := randomEntry(r, start+int64(i))
		f.Add(AppendEntry(nil, &e))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := DecodeEntry(b)
		if err != nil {
			return
		}
		if again := AppendEntry(nil, &e); !bytes.Equal(again, b) {
			t.Fatalf("%x encodes as %x", b, again)
		}
		if _, err := New(DefaultPolicy()).Apply(b); err != nil {
			t.Fatal(err)
		}
		for i := range e.Frames {
			if _, err := DecodeFrame(AppendFrame(nil, &e.Frames[i])); err != nil && e.Frames[i].Check() == nil {
				t.Fatal(err)
			}
		}
	})
}
