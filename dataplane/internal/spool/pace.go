package spool

import (
	"time"

	"golang.org/x/sys/unix"
)

// pacer keeps the shipping of a backlog from slowing calls down, which the same processors serve. It belongs to one goroutine.
//
// What shipping costs beyond keeping up with the records that are appended may take shipPerMille of the time of all processors,
// busy or not. Work that ships n records for c of CPU time is followed by more after T, where c(1 - aT/n) = share T and a is how
// fast records are appended. In T fewer than n of them are, so a backlog shrinks at every load that leaves the work its time.
type pacer struct {
	at                time.Time // when the newest rest began
	rested            time.Duration
	appended, shipped uint64        // until then
	spent             time.Duration // CPU time since
}

// rest says how long to wait after work that took cpu of one processor and ended now. appended and shipped are records since the start.
func (p *pacer) rest(now time.Time, cpu time.Duration, appended, shipped uint64, processors int) time.Duration {
	p.spent += cpu
	done := float64(shipped - p.shipped)
	if done == 0 {
		return 0
	}
	took := max(now.Sub(p.at), time.Millisecond)
	rate := float64(appended-p.appended) / took.Seconds()
	share := min(float64(shipPerMille*processors)/1000, 1)
	spent := p.spent.Seconds()
	cycle := time.Duration(spent / (share + spent*rate/done) * float64(time.Second))
	rest := min(max(cycle-max(took-p.rested, 0), 0), shipRestMax)
	*p = pacer{at: now, rested: rest, appended: appended, shipped: shipped}
	return rest
}

// behind reports whether so much waits to be shipped that it is done at a pace.
func (s *Spool) behind() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return int64(len(s.queue))*s.o.SegmentBytes > backlogBytes
}

// threadTime is the CPU time of the calling thread; 0 where there is no such clock, and then nothing rests.
func threadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
