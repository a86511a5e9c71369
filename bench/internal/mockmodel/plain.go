package mockmodel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"modelgate.internal/bench/internal/mockmodel/fault"
	"modelgate.internal/bench/internal/mockmodel/journal"
	"modelgate.internal/bench/internal/mockmodel/openai"
)

// said is what a request of a protocol that is no chat comes to.
type said struct {
	words  string // the caller's own, where a scenario can be named
	status int    // 0 is 200
	answer any    // encoded as JSON
}

// plain answers such a protocol, with the journal and the faults of the chat. A fault that is about the content of an answer
// sends that of a chat, which is as wrong here.
func (s *Server) plain(hear func(r *http.Request, body []byte) said) http.HandlerFunc {
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
			left()
			return
		}
		heard := hear(r, body)
		call, _, err := fault.FromText(heard.words)
		if err != nil {
			heard.status, heard.answer = http.StatusBadRequest, map[string]string{"error": err.Error()}
		}
		if call != nil {
			entry.Describe("", call.String(), false)
			if outcome = s.play(s.standIn(w, ctx, cancel, entry, heard.words), call); outcome == journal.ClientGone {
				left()
			}
			return
		}
		status := max(heard.status, http.StatusOK)
		entry.Status(status)
		entry.Closing()
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(heard.answer) // the caller may be gone
	}
}

// standIn is the chat that a fault is played on.
func (s *Server) standIn(w http.ResponseWriter, ctx context.Context, leave func(), entry *journal.Entry, words string) *fault.Exchange {
	body, err := json.Marshal(map[string]any{
		"model": s.cfg.Models[0], "messages": []any{map[string]string{"role": "user", "content": words}},
	})
	if err != nil {
		panic("BUG: mockmodel: strings do not encode")
	}
	req, err := openai.Decode(body)
	if err != nil {
		panic("BUG: mockmodel: a request of our own is refused")
	}
	id := s.lastID.Add(1)
	return &fault.Exchange{
		W: w, Ctx: ctx, Leave: leave, Entry: entry, Request: req,
		Answer:     openai.Compose(req, words, fmt.Sprintf("chatcmpl-mock-%d", id), s.cfg.Now().Unix()),
		TokenDelay: s.cfg.TokenDelay, FirstDelay: s.cfg.FirstTokenDelay,
	}
}
