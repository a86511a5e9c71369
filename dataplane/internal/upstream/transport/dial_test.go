package transport

import (
	"context"
	"errors"
	"net"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

func TestDialingDoesNotDeepenTheStackOfTheCall(t *testing.T) {
	var stack string
	h := NewHost(Options{Address: "h:1", Dial: func(context.Context, string, string) (net.Conn, error) {
		stack = string(debug.Stack())
		return nil, errors.New("refused")
	}})
	if _, err := h.Exchange(t.Context(), [][]byte{[]byte("GET / HTTP/1.1\r\n\r\n")}, Times{Connect: time.Minute}); err == nil {
		t.Fatal("no error")
	}
	if stack == "" || strings.Contains(stack, ".Exchange(") {
		t.Errorf("dialed on the stack of the call:\n%s", stack)
	}
}

func TestADialThatPanicsIsAFailedConnection(t *testing.T) {
	h := NewHost(Options{Address: "h:1", Dial: func(context.Context, string, string) (net.Conn, error) { panic("broken") }})
	_, err := h.Exchange(t.Context(), [][]byte{[]byte("GET / HTTP/1.1\r\n\r\n")}, Times{Connect: time.Minute})
	if e, ok := errors.AsType[*Error](err); !ok || e.Phase != Connect || !strings.Contains(err.Error(), "broken") {
		t.Errorf("got %v", err)
	}
	if _, busy := h.Counts(); busy != 0 {
		t.Errorf("%d connections are counted as open", busy)
	}
}
