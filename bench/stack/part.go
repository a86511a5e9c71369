package stack

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"modelgate.internal/shared/child"
)

// part is one supervised process of the stack.
type part struct {
	name   string
	at     layout
	out    *voice
	ready  string // URL that answers 200 when the process is ready; empty: ready when launched
	door   string // address that takes connections when the process is ready; empty: not asked
	launch func(ctx context.Context) (*child.Process, error)
	halt   func(*child.Process) // ends it politely, then for certain

	mu      sync.Mutex     // held while launching and stopping, so that neither happens twice
	proc    *child.Process // nil while down
	unlike  bool           // to stay down
	started time.Time
	wake    chan struct{} // told when unlike has changed; has room for one
	ended   chan struct{} // closed when supervision is over; nil before it began
	over    context.CancelFunc
}

// start launches the process for the first time.
func (p *part) start(ctx context.Context) error {
	p.wake = make(chan struct{}, 1)
	if _, err := p.up(ctx); err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	return nil
}

// up launches the process, unless it is to stay down, and notes it.
func (p *part) up(ctx context.Context) (*child.Process, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.unlike || ctx.Err() != nil {
		return nil, nil //nolint:nilnil // nothing to run is no error
	}
	proc, err := p.launch(ctx)
	if err != nil {
		return nil, err
	}
	p.proc, p.started = proc, time.Now()
	return proc, p.at.writePid(p.name, proc.Pid())
}

// down notes that the process has ended and returns how long it ran.
func (p *part) down() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.proc = nil
	_ = os.Remove(p.at.pidFile(p.name))
	return time.Since(p.started)
}

// supervise keeps the process running until ctx ends or finish is called.
func (p *part) supervise(ctx context.Context) {
	ctx, p.over = context.WithCancel(ctx)
	p.ended = make(chan struct{})
	go func() {
		defer close(p.ended)
		p.keep(ctx)
	}()
}

func (p *part) keep(ctx context.Context) {
	proc, pause := p.current(), restartMin
	for {
		if proc != nil {
			<-proc.Done()
			if p.down() > restartCalm {
				pause = restartMin
			}
			if ctx.Err() == nil && p.wanted() {
				p.out.say("%s ended (%s); %s ends:\n%s\nstarting %s again in %s",
					p.name, ending(proc), p.at.log(p.name), tail(p.at.log(p.name)), p.name, pause)
			}
		}
		if !p.wanted() {
			select {
			case <-p.wake:
			case <-ctx.Done():
				return
			}
			pause = restartMin
		} else {
			select {
			case <-p.wake:
			case <-time.After(pause):
			case <-ctx.Done():
				return
			}
			pause = min(2*pause, restartMax)
		}
		var err error
		if proc, err = p.up(ctx); err != nil && ctx.Err() == nil {
			p.out.say("%s does not start: %v\ntrying again in %s", p.name, err, pause)
		} else if proc != nil {
			p.out.say("%s runs again, as process %d", p.name, proc.Pid())
		}
	}
}

func (p *part) current() *child.Process {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.proc
}

func (p *part) wanted() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.unlike
}

func (p *part) pid() int {
	if proc := p.current(); proc != nil && proc.Running() {
		return proc.Pid()
	}
	return 0
}

// stay makes the process run, or makes it end and waits for that.
func (p *part) stay(running bool) {
	p.mu.Lock()
	p.unlike = !running
	proc := p.proc
	p.mu.Unlock()
	if !running && proc != nil {
		p.halt(proc)
		_ = os.Remove(p.at.pidFile(p.name))
	}
	select {
	case p.wake <- struct{}{}:
	default: // told already
	}
}

// finish ends supervision and process.
func (p *part) finish() {
	if p.over != nil {
		p.over()
	}
	p.stay(false)
	if p.ended != nil {
		<-p.ended
	}
	p.down()
}

// awaitReady waits until the process answers that it is ready. While it is not supervised yet its end is an error.
func (p *part) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyWait)
	defer cancel()
	progress := time.NewTicker(progressEvery)
	defer progress.Stop()
	for begun := time.Now(); ; {
		why := p.ask(ctx)
		if why == "" {
			return nil
		}
		var ended <-chan struct{}
		if proc := p.current(); proc != nil && p.ended == nil {
			ended = proc.Done()
		}
		select {
		case <-ended:
			return fmt.Errorf("%s ended at its start (%s); %s ends:\n%s", p.name, ending(p.current()), p.at.log(p.name), tail(p.at.log(p.name)))
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready after %s (%s); %s ends:\n%s",
				p.name, time.Since(begun).Round(time.Second), why, p.at.log(p.name), tail(p.at.log(p.name)))
		case <-progress.C:
			p.out.say("still waiting for %s after %s: %s", p.name, time.Since(begun).Round(time.Second), why)
		case <-time.After(readyPoll):
		}
	}
}

// ask asks once whether the process is ready and returns why not.
func (p *part) ask(ctx context.Context) string {
	if p.pid() == 0 {
		return "it is down"
	}
	if p.ready == "" {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, readyAsk)
	defer cancel()
	status, body, err := get(ctx, p.ready)
	switch {
	case err != nil:
		return "it does not answer"
	case status != http.StatusOK:
		return body
	case p.door == "":
		return ""
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", p.door)
	if err != nil {
		return "it takes no connections at " + p.door
	}
	_ = conn.Close()
	return ""
}

func ending(proc *child.Process) string {
	if err := proc.Err(); err != nil {
		return err.Error()
	}
	return "exit status 0"
}
