package listener

import (
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// halved is a connection that can be closed on one side.
type halved struct{ net.Conn }

func (halved) CloseWrite() error { return nil }

// TestARefusedBodyIsReadOn runs in virtual time: a client that goes on sending is read for the time of a body, one that stops is not.
func TestARefusedBodyIsReadOn(t *testing.T) {
	for _, tt := range []struct{ sends, reads time.Duration }{
		{0, lingerTime}, {6 * time.Second, 6*time.Second + lingerTime}, {time.Minute, bodyTime},
	} {
		synctest.Test(t, func(t *testing.T) {
			ours, theirs := net.Pipe()
			began, done := time.Now(), make(chan struct{})
			go func() {
				defer close(done)
				for time.Since(began) < tt.sends {
					if _, err := theirs.Write(make([]byte, lingerPieceBytes)); err != nil {
						return
					}
					time.Sleep(time.Second)
				}
			}()
			(&Conn{Conn: halved{ours}}).readOn()
			if took := time.Since(began); took < tt.reads-2*time.Second || took > tt.reads {
				t.Errorf("one that sends for %s is read for %s, want %s", tt.sends, took, tt.reads)
			}
			_, _ = ours.Close(), theirs.Close()
			<-done
		})
	}
}
