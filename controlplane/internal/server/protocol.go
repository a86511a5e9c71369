package server

import (
	"bytes"
	"fmt"
	"net"
	"strings"

	"github.com/google/uuid"

	"modelgate.internal/shared/apierr"
)

// Listener has what net/http answers by itself, before there is a request that a handler could see, written as the contract writes
// errors. The listener must be one of TCP.
func Listener(l net.Listener) net.Listener { return listener{l} }

type listener struct{ net.Listener }

// Accept implements net.Listener.
func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err //nolint:wrapcheck // net/http looks at its type
	}
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return c, nil
	}
	return &conn{tcp}, nil
}

// conn is a connection to a client. It is a TCPConn so that files are still sent by the kernel.
type conn struct{ *net.TCPConn }

// Write implements io.Writer. net/http writes such an answer at once.
func (c *conn) Write(b []byte) (int, error) {
	answer := asContract(b)
	if answer == nil {
		return c.TCPConn.Write(b) //nolint:wrapcheck // net/http looks at its type
	}
	if _, err := c.TCPConn.Write(answer); err != nil {
		return 0, err //nolint:wrapcheck // net/http looks at its type
	}
	return len(b), nil
}

// The forms of net/http's own answers (net/http, server.go: errorHeaders and sendExpectationFailed). An answer of a handler has a
// Date before its other headers and no 417.
const (
	errorHeaders      = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"
	expectationFailed = "HTTP/1.1 417 Expectation Failed"
)

// asContract returns what is sent in the place of an answer of net/http's own, or nil for any other bytes.
func asContract(b []byte) []byte {
	line, rest, _ := bytes.Cut(b, []byte("\r\n"))
	said := ""
	switch {
	case string(line) == expectationFailed:
	case bytes.HasPrefix(line, []byte("HTTP/1.1 ")) && bytes.HasPrefix(rest, []byte(errorHeaders[2:])):
		said = string(rest[len(errorHeaders)-2:])
	default:
		return nil
	}
	status, _, _ := strings.Cut(strings.TrimPrefix(string(line), "HTTP/1.1 "), ":")
	_, body := apierr.Wire(apierr.New(apierr.BadRequest, detailOf(status, said)))
	return fmt.Appendf(nil, "HTTP/1.1 %s\r\nContent-Type: application/json\r\nCache-Control: no-store\r\nX-Request-Id: %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		status, uuid.NewString(), len(body), body)
}

// detailOf says what is wrong with a request that net/http does not read.
func detailOf(status, said string) string {
	switch status[:min(len(status), 3)] {
	case "417":
		return "The only expectation that is met is 100-continue. Leave the Expect header out, or send that."
	case "431":
		return fmt.Sprintf("The head of the request is larger than %d bytes. Send fewer or shorter headers.", HeaderBytesMax)
	}
	_, why, _ := strings.Cut(said, ": ")
	if why == "" {
		return "This is not a request of HTTP/1.1."
	}
	return "This is not a request that can be read: " + why + "."
}
