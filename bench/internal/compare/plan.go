package compare

import "time"

// plan is how long everything takes.
type plan struct {
	repeats          int
	unaryWarm, unary time.Duration
	burstEvents      int // of each stream
	open, openMany   time.Duration
	settle, window   time.Duration
	interval, slowly time.Duration // between the events of a stream, with some and with many streams
}

func fullPlan() plan {
	return plan{
		repeats: 3, unaryWarm: 500 * time.Millisecond, unary: 2500 * time.Millisecond, burstEvents: 40_000,
		open: time.Second, openMany: 2 * time.Second, settle: 300 * time.Millisecond, window: 2 * time.Second,
		interval: 50 * time.Millisecond, slowly: 250 * time.Millisecond,
	}
}

func quickPlan() plan {
	p := fullPlan()
	p.repeats, p.burstEvents = 1, 20_000
	p.unaryWarm, p.unary = 300*time.Millisecond, 1500*time.Millisecond
	p.open, p.openMany, p.settle, p.window = 700*time.Millisecond, 1500*time.Millisecond, 200*time.Millisecond, 1200*time.Millisecond
	return p
}

// lone is a run of streams whose events come one by one.
type lone struct {
	streams        int
	open, interval time.Duration
}

// events is the number that keeps the first stream open until the window is over.
func (p plan) events(l lone) int {
	return int((l.open + p.settle + p.window + loneSpare) / l.interval)
}

// limit is the longest such a run may take.
func (p plan) limit(l lone) time.Duration {
	return l.open + time.Duration(p.events(l))*l.interval + 20*time.Second
}

func (p plan) some() lone { return lone{someStreams, p.open, p.interval} }
func (p plan) many() lone { return lone{manyStreams, p.openMany, p.slowly} }
