package mockmodel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"modelgate.internal/bench/internal/mockmodel/fault"
	"modelgate.internal/bench/internal/mockmodel/journal"
	"modelgate.internal/bench/internal/mockmodel/openai"
)

// chat answers POST /v1/chat/completions and keeps the journal of it.
func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
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
	unhook := context.AfterFunc(ctx, left)
	defer unhook()

	req, call, said, err := s.accept(w, r, entry)
	if err != nil {
		var e *openai.Error
		if !errors.As(err, &e) { // the body did not arrive
			entry.Left()
			return
		}
		entry.Status(e.Status)
		entry.Closing()
		writeError(w, e)
		return
	}
	id := s.lastID.Add(1)
	x := &fault.Exchange{
		W: w, Ctx: ctx, Leave: cancel, Entry: entry, Request: req,
		Answer:     openai.Compose(req, said, fmt.Sprintf("chatcmpl-mock-%d", id), s.cfg.Now().Unix()),
		TokenDelay: s.cfg.TokenDelay, FirstDelay: s.cfg.FirstTokenDelay,
	}
	w.Header().Set("X-Request-Id", fmt.Sprintf("req_mock_%d", id))
	defer x.Release()
	outcome = s.play(x, call)
	if outcome == journal.ClientGone {
		left() // the hook runs beside us and may be late
	}
}

// play runs the call, or the normal answer if there is none, and says how it ended.
func (s *Server) play(x *fault.Exchange, call *fault.Call) journal.Outcome {
	var broken bool
	var err error
	if call == nil || !s.script.spend(call) {
		err = fault.Normal(x)
	} else {
		broken, err = call.Run(x)
	}
	switch {
	case errors.Is(context.Cause(x.Ctx), errStopped):
		return journal.Stopped
	case err != nil:
		return journal.ClientGone
	case broken:
		return journal.Fault
	}
	return journal.Done
}

// accept reads and judges a request and finds the fault it asks for. An error that is no *openai.Error means that
// the caller left before the body was whole.
func (s *Server) accept(w http.ResponseWriter, r *http.Request, entry *journal.Entry) (
	req *openai.Request, call *fault.Call, said string, err error,
) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.cfg.MaxBodyBytes))
	entry.Body(body)
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		e := openai.Invalid("", "The request body is larger than %d bytes.", tooLarge.Limit)
		e.Status = http.StatusRequestEntityTooLarge
		return nil, nil, "", e
	} else if err != nil {
		return nil, nil, "", err
	}
	if e := s.refuseKey(r.Header.Get("Authorization")); e != nil {
		return nil, nil, "", e
	}
	req, err = openai.Decode(body)
	if err != nil {
		return nil, nil, "", err
	}
	entry.Describe(req.Model, "", req.Stream)
	call, said, err = s.choose(req)
	if err == nil && call != nil {
		entry.Describe(req.Model, call.String(), req.Stream)
	}
	return req, call, said, err
}

// choose finds the fault for a request and the user's words without the scenario token.
func (s *Server) choose(req *openai.Request) (call *fault.Call, said string, err error) {
	byModel, refused := s.byModel(req.Model)
	if refused != nil {
		return nil, "", refused
	}
	if i := req.LastUser(); i >= 0 {
		call, said, err = fault.FromText(req.Messages[i].Content.Text)
		if err != nil {
			return nil, "", openai.Invalid("messages", "%s", err)
		}
	}
	if call == nil {
		call = s.script.next(req.Model)
	}
	if call == nil {
		call = byModel
	}
	return call, said, nil
}

// byModel refuses models that are not served and finds the fault that a name asks for, nil for none.
func (s *Server) byModel(name string) (*fault.Call, *openai.Error) {
	if slices.Contains(s.cfg.Models, name) || slices.Contains(s.script.models(), name) {
		return nil, nil
	}
	refused := openai.ModelNotFound(name)
	for _, served := range s.cfg.Models {
		if suffix, ok := strings.CutPrefix(name, served+":"); ok {
			call, err := fault.FromModel(suffix)
			if err == nil {
				return call, nil
			}
			refused.Message += " As a scenario: " + err.Error() + "."
		}
	}
	return nil, refused
}
