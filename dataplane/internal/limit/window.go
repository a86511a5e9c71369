package limit

import "time"

// window counts calls exactly over a sliding window. Calls are kept per slot of 1/slotsPerWindow of the window; one counts
// until its whole slot has left the window, so never shorter than the window.
//
// Slots are numbered from the start of the limiter. The ring holds the slots with calls in them, oldest first: at most
// slotsPerWindow+1 are within the window, and at most as many as calls are counted.
type window struct {
	slot    time.Duration
	ring    []slotCount
	head, n int
	counted int64
}

type slotCount struct {
	slot  int64
	count int64
}

// fit makes room for the terms.
func (w *window) fit(t *terms) {
	slot := max((t.window+slotsPerWindow-1)/slotsPerWindow, 1)
	if w.slot != slot && w.n > 0 {
		w.rescale(slot)
	}
	w.slot = slot
	if room := int(min(t.max, slotsPerWindow+2)); room > len(w.ring) {
		ring := make([]slotCount, room)
		for i := range w.n {
			ring[i] = *w.at(i)
		}
		w.ring, w.head = ring, 0
	}
}

// rescale gives every call the slot of the new size that contains the end of its old one.
func (w *window) rescale(slot time.Duration) {
	for i := range w.n {
		e := w.at(i)
		e.slot = int64(time.Duration(e.slot+1) * w.slot / slot)
	}
}

// at returns the i-th oldest slot.
func (w *window) at(i int) *slotCount {
	i += w.head
	if i >= len(w.ring) {
		i -= len(w.ring)
	}
	return &w.ring[i]
}

// end is when a slot stops counting.
func (w *window) end(slot int64) time.Duration { return time.Duration(slot+slotsPerWindow+1) * w.slot }

func (w *window) expire(now time.Duration) {
	for w.n > 0 {
		e := w.at(0)
		if w.end(e.slot) > now {
			return
		}
		w.counted -= e.count
		if w.head++; w.head == len(w.ring) {
			w.head = 0
		}
		w.n--
	}
}

// push counts a call. Readings of the clock may arrive out of order; a late one counts as of the newest, which keeps the
// call longer and so never admits too much.
func (w *window) push(now time.Duration) {
	slot := int64(now / w.slot)
	if w.n > 0 {
		if last := w.at(w.n - 1); slot <= last.slot {
			last.count++
			w.counted++
			return
		}
	}
	if w.n == len(w.ring) { // only after the window's length changed: merge into the newest
		w.at(w.n-1).count++
		w.at(w.n - 1).slot = slot
		w.counted++
		return
	}
	w.n++
	*w.at(w.n - 1) = slotCount{slot, 1}
	w.counted++
}

// remove takes back a call that was pushed at the given time. If its slot took calls of others with it, the oldest of the
// candidates goes, so what remains counts at least as long as it should.
func (w *window) remove(pushed time.Duration) {
	slot := int64(pushed / w.slot)
	for i := range w.n {
		if e := w.at(i); e.slot >= slot {
			w.counted--
			if e.count--; e.count == 0 {
				w.drop(i)
			}
			return
		}
	}
}

// drop forgets the i-th oldest slot.
func (w *window) drop(i int) {
	for ; i+1 < w.n; i++ {
		*w.at(i) = *w.at(i + 1)
	}
	w.n--
}

// frees returns how long after now at least calls of the counted ones stop counting.
func (w *window) frees(now time.Duration, calls int64) time.Duration {
	for i := range w.n {
		e := w.at(i)
		if calls -= e.count; calls <= 0 {
			return max(w.end(e.slot)-now, 0)
		}
	}
	return 0
}
