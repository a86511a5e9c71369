package mockmodel

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"modelgate.internal/bench/internal/mockmodel/fault"
	"modelgate.internal/bench/internal/mockmodel/journal"
	"modelgate.internal/bench/internal/mockmodel/openai"
)

// results serves a protocol whose answers are one JSON object each, or a stream of that one object where a stream is asked for.
// It keeps the journal and plays the faults as chat does; a scenario is chosen by a token anywhere in the body.
func (s *Server) results(answer func(r *http.Request, body []byte) ([]byte, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		entry := s.journal.Begin(r)
		outcome := journal.Done
		defer func() { entry.End(outcome) }()
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		left := func() {
			if !errors.Is(context.Cause(ctx), errStopped) {
				entry.Left()
			}
		}
		defer context.AfterFunc(ctx, left)()

		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.cfg.MaxBodyBytes))
		entry.Body(body)
		if err != nil {
			entry.Left()
			return
		}
		stream := strings.Contains(r.Header.Get("Accept"), "text/event-stream")
		call, _, err := fault.FromText(string(body))
		var whole []byte
		if refused := s.refuseKey(r.Header.Get("Authorization")); refused != nil {
			err = refused
		} else if err == nil {
			whole, err = answer(r, body)
		}
		if err != nil {
			refuse(w, entry, err)
			return
		}
		name := r.URL.Path
		if entry.Describe(name, "", stream); call != nil {
			entry.Describe(name, call.String(), stream)
		}
		x := &fault.Exchange{
			W: w, Ctx: ctx, Leave: cancel, Entry: entry, Request: &openai.Request{Stream: stream}, Answer: &openai.Answer{Whole: whole},
			TokenDelay: s.cfg.TokenDelay, FirstDelay: s.cfg.FirstTokenDelay,
		}
		defer x.Release()
		if outcome = s.play(x, call); outcome == journal.ClientGone {
			left()
		}
	}
}

// refuse answers a request that cannot be answered. An error that is no *openai.Error is the caller's.
func refuse(w http.ResponseWriter, entry *journal.Entry, err error) {
	var e *openai.Error
	if !errors.As(err, &e) {
		e = openai.Invalid("", "%s", err)
	}
	entry.Status(e.Status)
	entry.Closing()
	writeError(w, e)
}
