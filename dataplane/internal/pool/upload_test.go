package pool_test

import (
	"errors"
	"testing"

	"modelgate.internal/dataplane/internal/pool"
	"modelgate.internal/dataplane/internal/upstream"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
)

func TestAnUploadThatWasReadIsNotMadeAgain(t *testing.T) {
	for name, err := range map[string]error{
		"of the upstream": &upstream.UploadError{Err: errServer},
		"of the client":   &upstream.UploadError{Source: true, Err: apierr.New(apierr.TooLarge, "Too large.")},
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, w way) {
				f := newField(t, 3, 2, func(_ *plane.Current, p *plane.PoolSpec) { p.Fallbacks = []plane.Fallback{{Upstream: "c"}} })
				f.servers["a"].err, f.servers["b"].err = err, err
				if facts, got := w.ask(f, t.Context()); !errors.Is(got, err) || facts.Attempts != 1 || facts.Fallbacks != 0 {
					t.Errorf("got %+v, %v", facts, got)
				}
			})
		})
	}
}

func TestAMemberShowsHowItFailedLast(t *testing.T) {
	both(t, func(t *testing.T, w way) {
		f := newField(t, 1, 1, func(_ *plane.Current, p *plane.PoolSpec) { p.Retry.Attempts = 1 })
		for _, step := range []struct {
			err  error
			want plane.FailureClass
		}{
			{nil, ""},
			{errServer, plane.FailServerError},
			{apierr.New(apierr.BadRequest, "No."), plane.FailServerError},
			{&upstream.UploadError{Source: true, Err: errConnect}, plane.FailServerError},
			{errConnect, plane.FailConnect},
			{nil, ""},
		} {
			f.servers["a"].err = step.err
			_, _ = w.ask(f, t.Context())
			if got := f.Members("p"); len(got) != 1 || got[0].Fault != step.want || got[0].State != pool.StateUp {
				t.Errorf("after %v: got %+v, want %q", step.err, got, step.want)
			}
		}
	})
}
