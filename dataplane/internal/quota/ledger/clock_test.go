package ledger

import "testing"

func TestClockContinues(t *testing.T) {
	const second = int64(1e9)
	wall := start * 1e6
	var a, b Clock
	a.Resume(0, wall, 0)
	if got := a.Stamp(wall+second, second); got != start+1000 {
		t.Fatal(got)
	}
	// b has a wall clock an hour ahead and sees the entry 30 ms after it was stamped, at its own monotonic time 5 s.
	b.Observe(start+1000, 5*second)
	b.Lead(wall + 3600*second)
	got := b.Stamp(wall+3602*second, 7*second)
	if got < start+3000 || got > start+3001 {
		t.Fatalf("a new leader stamps %d ms after the old one's entry, 2 s later", got-start-1000)
	}
	// It slews by 500 ppm towards its wall clock, and not faster.
	last := got
	for i := range int64(60) {
		got = b.Stamp(wall+(3603+i)*second, (8+i)*second)
	}
	if passed := got - last; passed < 60_000 || passed > 60_030 {
		t.Fatalf("60 s take %d ms", passed)
	}
	// A wall clock behind slows it, and nothing turns it back.
	last = got
	if got = b.Stamp(wall, 68*second); got < last+999 || got > last+1000 {
		t.Fatal(got - last)
	}
	if again := b.Stamp(wall, 60*second); again < got {
		t.Fatal("the clock went back")
	}
	b.Resume(got, wall-second, 1)
	if b.Stamp(wall, 1) != got {
		t.Fatal("a restart turned the clock back")
	}
}
