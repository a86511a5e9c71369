package mockmodel

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"

	"modelgate.internal/bench/internal/mockmodel/fault"
	"modelgate.internal/bench/internal/mockmodel/openai"
)

// modelObject is a model as /v1/models shows it.
type modelObject struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

func (s *Server) object(name string) modelObject {
	return modelObject{ID: name, Object: "model", Created: s.started.Unix(), OwnedBy: fault.HeaderValue}
}

func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	names := append(slices.Clone(s.cfg.Models), s.script.models()...)
	slices.Sort(names)
	list := []modelObject{}
	for _, name := range slices.Compact(names) {
		list = append(list, s.object(name))
	}
	writeJSON(w, map[string]any{"object": "list", "data": list})
}

func (s *Server) model(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("model")
	if !slices.Contains(s.cfg.Models, name) && !slices.Contains(s.script.models(), name) {
		writeError(w, openai.ModelNotFound(name))
		return
	}
	writeJSON(w, s.object(name))
}

func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	mode := "normal"
	if s.fast != nil {
		mode = "fast"
	}
	writeJSON(w, map[string]any{"status": "ok", "backend": "simulator", "mode": mode, "models": s.cfg.Models})
}

// requests answers {"last":N,"requests":[...]}; asking again with since=N gives what came later.
func (s *Server) requests(w http.ResponseWriter, r *http.Request) {
	since := int64(0)
	if text := r.URL.Query().Get("since"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			writeError(w, openai.Invalid("since", "'since' is the number of a request, got %q.", text))
			return
		}
		since = n
	}
	views, last := s.journal.Since(since)
	writeJSON(w, map[string]any{"last": last, "requests": views})
}

// open answers {"open":N}, in the fast mode with its totals beside it.
func (s *Server) open(w http.ResponseWriter, _ *http.Request) {
	if s.fast != nil {
		writeJSON(w, s.fast.Counters())
		return
	}
	writeJSON(w, map[string]int{"open": s.journal.Open()})
}

func (s *Server) scenarios(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fault.Describe(w)
}

func (s *Server) reset(w http.ResponseWriter, _ *http.Request) {
	s.Reset()
	writeJSON(w, map[string]bool{"ok": true})
}

func (s *Server) setScript(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxScriptBytes))
	if err == nil {
		err = s.script.replace(string(text))
	}
	if err != nil {
		writeError(w, openai.Invalid("script", "%s", err))
		return
	}
	writeJSON(w, map[string]bool{"ok": true})
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the caller may be gone
}

// writeError answers with the protocol's error object.
func writeError(w http.ResponseWriter, err error) {
	var e *openai.Error
	if !errors.As(err, &e) {
		e = openai.ForStatus(http.StatusInternalServerError)
		e.Message = err.Error()
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(e.Status)
	_, _ = w.Write(e.JSON()) // the caller may be gone
}
