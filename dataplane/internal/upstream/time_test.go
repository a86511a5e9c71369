package upstream

import (
	"context"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
)

// piped returns an upstream whose connections are net.Pipe, for use in a bubble.
func piped(t *testing.T, o Options, do func(a *act)) *ChatServer {
	t.Helper()
	s := &script{t: t, do: do, closed: make(chan struct{}, 16)}
	o.Dial = func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go s.serve(theirs)
		return ours, nil
	}
	return newUpstream(t, "http://pipe/v1", o)
}

// silent is the end of an act: the server says nothing more until the client leaves.
func (a *act) silent() { io.Copy(io.Discard, a.nc) }

// TestDeadlines runs each deadline of a stream in virtual time.
func TestDeadlines(t *testing.T) {
	limits := Timeouts{Connect: time.Second, Head: 20 * time.Second, First: 30 * time.Second, Idle: 40 * time.Second, Answer: 50 * time.Second, Total: 300 * time.Second}
	for _, test := range []struct {
		name      string
		keepAlive time.Duration
		do        func(a *act)
		after     time.Duration
		pings     int
		text, end string // end is "" when Open fails
		fails     string
	}{
		{"head", 0, func(a *act) { a.silent() }, 20 * time.Second, 0, "", "", "did not begin to answer within 20s"},
		{"head, kept alive", 8 * time.Second, func(a *act) { a.silent() }, 20 * time.Second, 2, "", plane.EndDeadline, "did not begin to answer within 20s"},
		{"head that drips", 0, func(a *act) {
			for range 100 {
				time.Sleep(time.Second)
				if _, err := io.WriteString(a.nc, "H"); err != nil {
					return
				}
			}
		}, 20 * time.Second, 0, "", "", "did not begin"},
		{"first event", 0, func(a *act) { time.Sleep(5 * time.Second); a.events(); a.silent() }, 35 * time.Second, 0, "", "", "first event within 30s"},
		{
			"first event, kept alive", 10 * time.Second, func(a *act) { time.Sleep(5 * time.Second); a.events(); a.silent() },
			35 * time.Second, 3, "", plane.EndDeadline, "first event within 30s",
		},
		{"comments are no events", 0, func(a *act) {
			a.events()
			for a.chunk(": PROCESSING\n\n") == nil {
				time.Sleep(time.Second)
			}
		}, 30 * time.Second, 0, "", "", "first event"},
		{
			"idle", 0, func(a *act) {
				a.events()
				a.chunk(delta("a"))
				time.Sleep(39 * time.Second)
				a.chunk(delta("b"))
				a.silent()
			},
			79 * time.Second, 0, "ab", plane.EndDeadline, "silent in the middle of its answer and did not go on within 40s",
		},
		{
			"idle, kept alive", 15 * time.Second, func(a *act) { a.events(); a.chunk(delta("a")); a.silent() },
			40 * time.Second, 2, "a", plane.EndDeadline, "within 40s",
		},
		{"role only, then idle", 0, func(a *act) { a.events(); a.chunk(roleEvent); a.silent() }, 40 * time.Second, 0, "", "", "within 40s"},
		{"event that drips", 0, func(a *act) {
			a.events()
			a.chunk(delta("a"))
			for _, c := range delta("b") {
				time.Sleep(time.Second)
				if a.chunk(string(c)) != nil {
					return
				}
			}
		}, 40 * time.Second, 0, "a", plane.EndDeadline, "within 40s"},
		{"total", 0, func(a *act) {
			a.events()
			for a.chunk(delta("a")) == nil {
				time.Sleep(26 * time.Second)
			}
		}, 300 * time.Second, 0, "aaaaaaaaaaaa", plane.EndDeadline, "total deadline"},
		{
			"silence after the finish reason", 0, func(a *act) { a.events(); a.chunk(delta("a") + stopEvent); a.silent() },
			tailWait, 0, "a", plane.EndDone, "",
		},
		{"slow but good", 10 * time.Second, func(a *act) {
			time.Sleep(19 * time.Second)
			a.events()
			time.Sleep(29 * time.Second)
			a.chunk(delta("a"))
			time.Sleep(39 * time.Second)
			a.chunk(tail)
			a.end()
		}, 87 * time.Second, 4 + 3, "a", plane.EndDone, ""},
		{
			"late refusal", 10 * time.Second, func(a *act) { time.Sleep(15 * time.Second); a.body(500, "text/plain", "x") },
			15 * time.Second, 1, "", plane.EndFailed, "status 500",
		},
		{
			"late cut", 10 * time.Second, func(a *act) { time.Sleep(15 * time.Second); a.nc.Close() },
			15 * time.Second, 1, "", plane.EndFailed, "without an answer",
		},
		{
			"no comments where none are wanted", 0, func(a *act) { time.Sleep(19 * time.Second); a.events(); a.chunk(delta("a") + tail); a.end() },
			19 * time.Second, 0, "a", plane.EndDone, "",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				up := piped(t, Options{Timeouts: limits, KeepAlive: test.keepAlive}, test.do)
				began := time.Now()
				got := listen(t, t.Context(), up, hello)
				if took := time.Since(began); took != test.after {
					t.Errorf("took %s, want %s", took, test.after)
				}
				err := got.outcome.Err
				if test.end == "" {
					err = got.openErr
				} else if got.openErr != nil {
					t.Fatal(got.openErr)
				}
				if got.outcome.End != test.end || got.text != test.text || got.pings != test.pings {
					t.Errorf("got %+v", got)
				}
				if test.fails == "" != (err == nil) {
					t.Errorf("error %v", err)
				}
				if test.fails != "" {
					checkFault(t, err, apierr.BadGateway, test.fails)
				}
				up.Close()
				time.Sleep(time.Minute) // the server notices
				synctest.Wait()
				if idle, busy := up.Connections(); idle+busy != 0 {
					t.Errorf("%d idle, %d busy", idle, busy)
				}
			})
		})
	}
}

func TestDeadlineOfAWholeAnswer(t *testing.T) {
	for name, do := range map[string]func(a *act){
		"no head": func(a *act) { a.silent() },
		"no body": func(a *act) {
			a.say("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n")
			a.silent()
		},
		"dripping": func(a *act) {
			a.say("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 999\r\n\r\n")
			for {
				time.Sleep(time.Second)
				if _, err := io.WriteString(a.nc, " "); err != nil {
					return
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				up := piped(t, Options{Timeouts: Timeouts{Answer: 50 * time.Second}}, do)
				began := time.Now()
				_, err := up.Ask(t.Context(), hello)
				if took := time.Since(began); took != 50*time.Second {
					t.Errorf("took %s", took)
				}
				checkFault(t, err, apierr.BadGateway, "did not finish its answer within 50s")
				time.Sleep(time.Minute)
			})
		})
	}
}

func TestDeadlineOfDialing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := newUpstream(t, "https://pipe", Options{Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}})
		began := time.Now()
		_, err := up.Open(t.Context(), hello)
		if took := time.Since(began); took != connectDefault {
			t.Errorf("took %s", took)
		}
		checkFault(t, err, apierr.BadGateway, "could not be reached within 5s")
	})
}

func TestDefaultTimeouts(t *testing.T) {
	want := Timeouts{5 * time.Second, time.Minute, time.Minute, time.Minute, 5 * time.Minute, 30 * time.Minute}
	if got := (Timeouts{}).withDefaults(); got != want {
		t.Errorf("got %+v", got)
	}
	want.Idle = time.Second
	if got := (Timeouts{Idle: time.Second}).withDefaults(); got != want {
		t.Errorf("got %+v", got)
	}
}

// TestObserver follows the counters of a good, a refused and an abandoned call.
func TestObserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inFlight, ended, first := 0, []string{}, time.Duration(0)
		o := Options{Observer: Observer{
			InFlight: func(id string, d int) { inFlight += d },
			Ended:    func(id, result string, took time.Duration) { ended = append(ended, id+" "+result+" "+took.String()) },
			First:    func(id string, after time.Duration) { first = after },
		}}
		up := piped(t, o, func(a *act) {
			switch a.n {
			case 0:
				time.Sleep(3 * time.Second)
				a.events()
				a.chunk(delta("a"))
				time.Sleep(time.Second)
				a.chunk(tail)
				a.end()
			case 1:
				a.body(503, "text/plain", "busy")
			default:
				a.events()
				a.chunk(delta("a"))
				a.silent()
			}
		})
		if got := listen(t, t.Context(), up, hello); got.outcome.Err != nil || first != 3*time.Second {
			t.Errorf("%+v, first after %s", got, first)
		}
		if _, err := up.Ask(t.Context(), hello); err == nil {
			t.Error("no error")
		}
		s, err := up.Open(t.Context(), hello)
		if err != nil || inFlight != 1 {
			t.Fatal(err, inFlight)
		}
		time.Sleep(2 * time.Second)
		s.Close()
		want := []string{"up done 4s", "up refused 0s", "up cancelled 2s"}
		if inFlight != 0 || len(ended) != 3 || ended[0] != want[0] || ended[1] != want[1] || ended[2] != want[2] {
			t.Errorf("%d in flight, ended %q", inFlight, ended)
		}
		up.Close()
		synctest.Wait()
	})
}
