package pool_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"testing"

	"modelgate.internal/dataplane/internal/pool"
	"modelgate.internal/dataplane/internal/upstream"
	"modelgate.internal/dataplane/internal/upstream/transport"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
)

func TestClassOf(t *testing.T) {
	gateway := apierr.New(apierr.BadGateway, "Upstream a failed.")
	phase := func(p transport.Phase, err error) error { return gateway.Because(&transport.Error{Phase: p, Err: err}) }
	eof := errors.New("EOF")
	tests := []struct {
		err  error
		want plane.FailureClass
	}{
		{failing(plane.FailTimeout), plane.FailTimeout},
		{fmt.Errorf("ask: %w", failing(plane.FailRefused)), plane.FailRefused},
		{phase(transport.Connect, eof), plane.FailConnect},
		{phase(transport.Connect, os.ErrDeadlineExceeded), plane.FailConnect},
		{phase(transport.Busy, transport.ErrBusy), plane.FailBusy},
		{phase(transport.Send, eof), plane.FailServerError},
		{phase(transport.Await, eof), plane.FailServerError},
		{phase(transport.Await, os.ErrDeadlineExceeded), plane.FailTimeout},
		{phase(transport.Cut, eof), plane.FailServerError},
		{phase(transport.Invalid, eof), plane.FailInvalidAnswer},
		{gateway.Because(&net.OpError{Op: "dial", Err: eof}), plane.FailConnect},
		{gateway.Because(&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}), plane.FailTimeout},
		{gateway.Because(context.DeadlineExceeded), plane.FailTimeout},
		{gateway, plane.FailServerError},
		{apierr.New(apierr.Unavailable, "Misconfigured."), plane.FailBusy},
		{apierr.New(apierr.Limited, "Slow down."), plane.FailRateLimited},
		{apierr.New(apierr.BadRequest, "No."), "rejected"},
		{apierr.New(apierr.TooLarge, "No."), "rejected"},
		{errors.New("bug"), "rejected"},
		{&upstream.UploadError{Source: true, Err: gateway}, "ended"},
		{&upstream.UploadError{Err: phase(transport.Send, eof)}, plane.FailServerError},
	}
	for _, tt := range tests {
		if got := pool.ClassOf(tt.err); got != tt.want {
			t.Errorf("%v: got %s, want %s", tt.err, got, tt.want)
		}
	}
}
