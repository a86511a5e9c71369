package mockmodel

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"modelgate.internal/bench/internal/mockmodel/fast"
	"modelgate.internal/bench/internal/mockmodel/fault"
	"modelgate.internal/bench/internal/mockmodel/journal"
	"modelgate.internal/bench/internal/mockmodel/kserve"
	"modelgate.internal/bench/internal/mockmodel/native"
	"modelgate.internal/bench/internal/mockmodel/openai"
)

// errStopped is the cause of a request's end when the server shuts down.
var errStopped = errors.New("the simulator is shutting down")

// Server is a simulator. It is also an http.Handler, for use inside a test's own server; the fast mode needs Serve.
type Server struct {
	cfg     Config
	mux     *http.ServeMux
	journal *journal.Journal
	script  *script
	fast    *fast.Server // nil in the normal mode
	lastID  atomic.Int64
	started time.Time
}

// New makes a simulator, or says what is wrong with the configuration.
func New(cfg Config) (*Server, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	sc, err := newScript(cfg.Script)
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, script: sc, journal: journal.New(cfg.Keep, cfg.Now), mux: http.NewServeMux(), started: cfg.Now()}
	s.mux.HandleFunc("/v1/chat/completions", s.only(http.MethodPost, s.chat))
	s.mux.HandleFunc("/v1/models", s.only(http.MethodGet, s.keyed(s.models)))
	s.mux.HandleFunc("/v1/models/{model...}", s.only(http.MethodGet, s.keyed(s.model)))
	s.mux.HandleFunc("/v1/images/generations", s.only(http.MethodPost, s.keyed(s.plain(s.draw))))
	s.mux.HandleFunc("/libretranslate/translate", s.only(http.MethodPost, s.keyed(s.plain(s.translate))))
	s.mux.HandleFunc("/libretranslate/detect", s.only(http.MethodPost, s.keyed(s.plain(s.detect))))
	s.mux.HandleFunc("/libretranslate/languages", s.only(http.MethodGet, s.keyed(s.plain(s.languages))))
	s.mux.HandleFunc("/searxng/search", s.only(http.MethodGet, s.keyed(s.plain(s.search))))
	s.mux.HandleFunc("/native/", s.only(http.MethodPost, s.results(native.New().Answer)))
	s.mux.HandleFunc("/kserve/v2/models/{model}/infer", s.only(http.MethodPost, s.results(kserve.Answer)))
	s.mux.HandleFunc("/kserve/v2/health/ready", s.only(http.MethodGet, s.health))
	s.mux.HandleFunc("/v1/audio/transcriptions", s.only(http.MethodPost, s.keyed(s.transcriptions)))
	s.mux.HandleFunc("/v1/audio/speech", s.only(http.MethodPost, s.keyed(s.speech)))
	s.mux.HandleFunc("/native/voice/characteristics", s.only(http.MethodPost, s.keyed(s.voice)))
	s.mux.HandleFunc("/native/voice/analyze", s.only(http.MethodPost, s.keyed(s.voice)))
	s.mux.HandleFunc("/native/voice-id", s.only(http.MethodPost, s.keyed(s.voiceID)))
	s.mux.HandleFunc("/health", s.only(http.MethodGet, s.health))
	s.mux.HandleFunc("/_mock/requests", s.only(http.MethodGet, s.keyed(s.requests)))
	s.mux.HandleFunc("/_mock/open", s.only(http.MethodGet, s.keyed(s.open)))
	s.mux.HandleFunc("/_mock/scenarios", s.only(http.MethodGet, s.keyed(s.scenarios)))
	s.mux.HandleFunc("/_mock/reset", s.only(http.MethodPost, s.keyed(s.reset)))
	s.mux.HandleFunc("/_mock/script", s.only(http.MethodPost, s.keyed(s.setScript)))
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, &openai.Error{
			Status: http.StatusNotFound, Type: "invalid_request_error", Code: "unknown_url",
			Message: "Unknown request URL: " + r.Method + " " + r.URL.Path + ".",
		})
	})
	if cfg.Fast != nil {
		fc := *cfg.Fast
		fc.Model, fc.Now = cfg.Models[0], cfg.Now
		s.fast = fast.New(fc, s)
	}
	return s, nil
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set(fault.Header, fault.HeaderValue)
	s.mux.ServeHTTP(w, r)
}

// Serve answers on a listener until the context ends, then drops what is open and returns nil.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	base, cancel := context.WithCancelCause(ctx)
	defer cancel(errStopped)
	if s.fast != nil {
		return s.fast.Serve(base, l)
	}
	requests, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	srv := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return requests },
		ErrorLog:          slog.NewLogLogger(s.cfg.Log.Handler(), slog.LevelWarn),
	}
	closed := make(chan struct{})
	end := func() {
		defer close(closed)
		stop(errStopped)
		grace, done := context.WithTimeout(context.WithoutCancel(ctx), ShutdownGrace)
		defer done()
		if srv.Shutdown(grace) != nil {
			_ = srv.Close() // a caller that does not read; dropped
		}
	}
	unhook := context.AfterFunc(base, end)
	err := srv.Serve(l)
	if unhook() {
		stop(errStopped)
		return err // the listener failed by itself
	}
	<-closed
	return nil
}

// Requests returns what is remembered of the requests after number since, oldest first, and the newest number.
func (s *Server) Requests(since int64) ([]journal.View, int64) { return s.journal.Since(since) }

// Open is the number of requests being answered.
func (s *Server) Open() int {
	if s.fast != nil {
		return int(s.fast.Counters().Open)
	}
	return s.journal.Open()
}

// Reset forgets the requests and starts script and "times" counters anew.
func (s *Server) Reset() {
	s.journal.Reset()
	s.script.reset()
}

// SetScript replaces the script; one that cannot be read changes nothing.
func (s *Server) SetScript(text string) error { return s.script.replace(text) }

func (s *Server) only(method string, h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != method {
			w.Header().Set("Allow", method)
			writeError(w, &openai.Error{
				Status: http.StatusMethodNotAllowed, Type: "invalid_request_error", Code: "method_not_supported",
				Message: "Not allowed to " + r.Method + " on " + r.URL.Path + ".",
			})
			return
		}
		h(w, r)
	}
}

func (s *Server) keyed(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if e := s.refuseKey(r.Header.Get("Authorization")); e != nil {
			writeError(w, e)
			return
		}
		h(w, r)
	}
}

func (s *Server) refuseKey(authorization string) *openai.Error {
	if s.cfg.APIKey == "" {
		return nil
	}
	token, _ := strings.CutPrefix(authorization, "Bearer ")
	got, want := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(s.cfg.APIKey))
	if subtle.ConstantTimeCompare(got[:], want[:]) == 1 {
		return nil
	}
	e := openai.ForStatus(http.StatusUnauthorized)
	e.Message = "Incorrect API key provided."
	if token == "" {
		e.Message, e.Code = "You didn't provide an API key. Provide it in an Authorization header using Bearer auth.", ""
	}
	return e
}
