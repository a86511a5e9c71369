package transport

import (
	"errors"
	"os"
)

// Phase is the part of an exchange that failed.
type Phase uint8

// The phases, in their order.
const (
	Busy    Phase = iota + 1 // no connection may be opened: the cap is reached
	Connect                  // dialing, or the TLS handshake
	Send                     // writing the request
	Await                    // waiting for the head of the answer
	Invalid                  // the answer breaks the protocol
	Cut                      // the connection ended inside the answer
)

// String returns the word for logs and metrics.
func (p Phase) String() string {
	switch p {
	case Busy:
		return "busy"
	case Connect:
		return "connect"
	case Send:
		return "send"
	case Await:
		return "await"
	case Invalid:
		return "invalid"
	case Cut:
		return "cut"
	}
	return "unknown"
}

// Error is a failed exchange. Its text names addresses and is for logs only.
type Error struct {
	Phase Phase
	Err   error
}

// Error returns the phase and the cause.
func (e *Error) Error() string { return e.Phase.String() + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Timeout reports whether a deadline passed.
func (e *Error) Timeout() bool { return errors.Is(e.Err, os.ErrDeadlineExceeded) }

// ErrBusy is the cause of a Busy error.
var ErrBusy = errors.New("as many connections as allowed are in use")

func invalid(what string) error { return &Error{Invalid, errors.New(what)} }
