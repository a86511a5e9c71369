package transport

import (
	"context"
	"errors"
	"net"
	"os"
	"syscall"
	"time"
)

// exchange writes the request and waits for the head.
func (c *Conn) exchange(ctx context.Context, parts [][]byte, t Times, began time.Time) error {
	c.begin(ctx, time.Now().Add(t.Head))
	wait := c.headLimit
	if patience := began.Add(t.Patience); t.Patience > 0 && patience.Before(wait) {
		wait = patience
	}
	if c.plain && len(parts) == 1 {
		return c.ask(ctx, parts[0], wait)
	}
	if c.reused && !c.quiet() {
		return errNotQuiet
	}
	c.bind()
	if err := c.send(parts); err != nil {
		return c.lateHead(err)
	}
	return c.patiently(wait)
}

// ask is exchange for the usual request, one part on a plain connection: it is written by the wait for the answer, see sendOut.
func (c *Conn) ask(ctx context.Context, request []byte, wait time.Time) error {
	c.armed = wait
	_ = c.nc.SetReadDeadline(wait) // fails only on a closed connection, whose reads fail as well
	c.unbind = context.AfterFunc(ctx, c.cancel)
	c.out, c.err = request, nil
	err := c.patiently(wait)
	rest := c.out
	if c.out = nil; rest == nil {
		return err
	}
	switch { // it was not written, or not to its end
	case c.gone.Load(), errors.Is(c.err, errNotQuiet):
		return err
	case c.err == nil: // the time was over before
		return &Error{Send, os.ErrDeadlineExceeded}
	case !errors.Is(c.err, syscall.EAGAIN):
		return c.lateHead(c.err)
	}
	c.broken = false
	_ = c.nc.SetWriteDeadline(c.headLimit) // fails only on a closed connection, whose writes fail as well
	if _, err := c.nc.Write(rest); err != nil {
		return c.lateHead(err)
	}
	return c.patiently(wait)
}

// patiently waits for the head until then. That it is not there by then is an error only if its own time is up as well.
func (c *Conn) patiently(wait time.Time) error {
	err := c.Await(wait)
	if e, ok := errors.AsType[*Error](err); ok && e.Timeout() && wait.Before(c.headLimit) && c.out == nil {
		return nil
	}
	return err
}

// begin makes the connection ready for an exchange whose head must be complete by the given time.
func (c *Conn) begin(ctx context.Context, headLimit time.Time) {
	c.ctx = ctx
	c.Head, c.scan, c.body, c.invalid = Head{}, headScan{}, body{}, nil
	c.answered, c.broken, c.released = false, false, false
	c.headLimit, c.armed = headLimit, headLimit
}

// bind bounds writing and waiting by the time for the head, and by the context.
func (c *Conn) bind() {
	_ = c.nc.SetDeadline(c.headLimit) // fails only on a closed connection, whose writes fail as well
	c.unbind = context.AfterFunc(c.ctx, c.cancel)
}

// send writes the request in as few system calls as its parts allow.
func (c *Conn) send(parts [][]byte) error {
	if len(parts) == 1 {
		_, err := c.nc.Write(parts[0])
		return err
	}
	c.vector = append(net.Buffers(c.parts[:0]), parts...)
	_, err := c.vector.WriteTo(c.nc)
	clear(c.parts[:])
	c.vector = nil
	return err
}

// lateHead looks for the answer of a server that refused the request before reading all of it.
func (c *Conn) lateHead(sendErr error) error {
	if c.ctx.Err() != nil {
		return context.Cause(c.ctx)
	}
	c.broken = true
	if errors.Is(sendErr, os.ErrDeadlineExceeded) {
		return &Error{Send, sendErr}
	}
	if err := c.Await(time.Now().Add(lateHeadWait)); err == nil {
		return nil
	}
	if c.ctx.Err() != nil {
		return context.Cause(c.ctx)
	}
	return &Error{Send, sendErr}
}

// stale reports whether err looks like the server closed a reused connection while it was idle.
func (c *Conn) stale(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && c.reused && !c.answered && (e.Phase == Send || e.Phase == Await) && !e.Timeout()
}
