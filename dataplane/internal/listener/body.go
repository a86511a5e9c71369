package listener

import (
	"errors"
	"io"
)

// ReadBody reads a body that is to be in memory whole: at most max bytes, on behalf of an account, which holds the memory until
// [Conn.ReleaseBody]. The length is the stated one, or -1. The errors of from are returned as they are; those of ReadBody are answers:
// 413, 429 when the account holds too much, 503 when all accounts do.
//
// A stated length is held at once. Otherwise the memory follows what has arrived, by doubling.
func (c *Conn) ReadBody(from io.Reader, length, max int64, account string) ([]byte, error) {
	if length > max {
		return nil, tooLarge(max)
	}
	c.holding = true
	c.budget.begin(&c.held, account)
	room := length
	if length == chunked {
		room = min(bodyBytesFirst, max)
	}
	body, err := c.enlarge(nil, room)
	for err == nil {
		var n int
		n, err = from.Read(body[len(body):cap(body)])
		if body = body[:len(body)+n]; int64(len(body)) > max {
			return nil, tooLarge(max)
		}
		if err == nil && len(body) == cap(body) && length == chunked { // max+1 finds out that there is more than max
			body, err = c.enlarge(body, min(2*int64(cap(body)), max+1))
		}
	}
	if !errors.Is(err, io.EOF) {
		return nil, err
	}
	return c.fit(body), nil
}

// ReleaseBody gives the memory of the body back. Nobody may use the body afterwards.
func (c *Conn) ReleaseBody() {
	if c.holding {
		c.holding = false
		c.budget.release(&c.held, false)
	}
}

// enlarge moves a body to a buffer of the given size. For the moment both are held.
func (c *Conn) enlarge(body []byte, size int64) ([]byte, error) {
	if size > bodyBytesFree {
		if err := c.budget.take(&c.held, size); err != nil {
			return body, err
		}
	}
	larger := append(make([]byte, 0, size), body...)
	if old := int64(cap(body)); old > bodyBytesFree {
		c.budget.give(&c.held, old)
	}
	return larger, nil
}

// fit moves a body that is complete to a buffer of its size, if that frees much and there is room to do so.
func (c *Conn) fit(body []byte) []byte {
	if cap(body)-len(body) > bodyBytesFree {
		body, _ = c.enlarge(body, int64(len(body)))
	}
	return body
}
