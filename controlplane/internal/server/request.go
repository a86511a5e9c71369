package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"modelgate.internal/controlplane/internal/api"
	"modelgate.internal/shared/apierr"
)

type server struct {
	o      Options
	mux    *http.ServeMux
	file   func(name string) bool // whether there is one beside the portal's page
	policy string
	google bool // sign-in with Google is configured
	https  bool
}

// line is what the log says about a request.
type line struct {
	id        string
	operation string
	developer api.Developer
	err       error
}

type lineKey struct{}

// ServeHTTP is the way of every request.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := s.o.Now()
	l := &line{id: requestID(r), operation: "none"}
	out := &answer{ResponseWriter: w}
	s.headers(out.Header(), l.id)
	r = r.WithContext(api.WithDeveloper(context.WithValue(r.Context(), lineKey{}, l), &l.developer))
	s.serve(out, r, l)
	s.log(r, l, out, s.o.Now().Sub(began))
}

// serve finds the handler and answers what none is there for.
func (s *server) serve(w *answer, r *http.Request, l *line) {
	defer func() {
		if p := recover(); p != nil {
			l.err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
			if w.status == 0 {
				writeError(w, l.err)
			}
		}
	}()
	if openToPages(w, r) {
		return
	}
	if s.answers(r) {
		s.mux.ServeHTTP(w, r)
		return
	}
	err := apierr.New(apierr.NotFound, "There is nothing at this address.")
	if allow := s.possible(r); allow != "" {
		w.Header().Set("Allow", allow)
		err = apierr.New(apierr.NotAllowed, fmt.Sprintf("%s is not possible here. Possible: %s.", r.Method, allow))
	}
	writeError(w, err)
}

// answers reports whether there is something at the address for the method. The files beside the portal's page are read at a pattern that
// every address below /dev/ fits.
func (s *server) answers(r *http.Request) bool {
	_, pattern := s.mux.Handler(r)
	return pattern != "" && (pattern != filePattern || s.file(strings.TrimPrefix(r.URL.Path, "/dev/")))
}

// possible are the methods for which there is something at the address, as the header Allow has them.
func (s *server) possible(r *http.Request) string {
	var methods []string
	for _, method := range []string{
		http.MethodDelete, http.MethodGet, http.MethodHead, http.MethodPatch, http.MethodPost, http.MethodPut,
	} {
		at := *r
		at.Method = method
		if s.answers(&at) {
			methods = append(methods, method)
		}
	}
	return strings.Join(methods, ", ")
}

func (s *server) handle(pattern, operation string, h api.Handler) {
	bounds, parameters := api.BoundsOf(operation), parametersOf(pattern)
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), bounds.Timeout)
		defer cancel()
		r = r.WithContext(ctx)
		r.Body = http.MaxBytesReader(w, r.Body, bounds.BodyBytes+1) // the handlers say what is too much; this is for those that do not read
		l, ok := r.Context().Value(lineKey{}).(*line)
		if !ok {
			panic("BUG: server: a request without its line")
		}
		l.operation = operation
		if l.err = checkCoding(r); l.err == nil {
			l.err = readable(r, parameters)
		}
		if l.err == nil {
			l.err = h(w, r)
		}
		if l.err != nil {
			writeError(w, l.err)
		}
	})
}

var errCoding = apierr.New(apierr.UnsupportedCoding, "Bodies with a Content-Encoding are not read here. Send it as it is.")

// checkCoding refuses bodies with a content coding.
func checkCoding(r *http.Request) error {
	for _, coding := range r.Header.Values("Content-Encoding") {
		if coding != "" && !strings.EqualFold(coding, "identity") {
			return errCoding
		}
	}
	return nil
}

// writeError answers as the contract says.
func writeError(w http.ResponseWriter, err error) {
	status, body := apierr.Wire(err)
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	if seconds, ok := apierr.From(err).RetrySeconds(); ok {
		h.Set("Retry-After", strconv.FormatInt(seconds, 10))
	}
	if status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	if status == http.StatusUnsupportedMediaType {
		h.Set("Accept-Encoding", "identity")
	}
	w.WriteHeader(status)
	w.Write(body) //nolint:errcheck // the client has gone
}

// headers are those of every answer.
func (s *server) headers(h http.Header, id string) {
	h.Set("X-Request-Id", id)
	h.Set("Content-Security-Policy", s.policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Permissions-Policy", "camera=(self), microphone=(self), geolocation=()")
	opener := "same-origin"
	if s.google {
		opener = "same-origin-allow-popups" // Google's window answers the page that opened it
	}
	h.Set("Cross-Origin-Opener-Policy", opener)
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	if s.https {
		h.Set("Strict-Transport-Security", "max-age=31536000; includeSubDomains")
	}
}

// portalPolicy lets the portal load nothing from elsewhere and call nothing but its own origin and the gateway. Where sign-in with
// Google is configured it allows what the provider asks for (Google Identity Services, "Content Security Policy"), and no more.
func portalPolicy(gatewayURL string, google bool) string {
	connect, provider := "'self'", ""
	if google {
		connect += " https://accounts.google.com/gsi/"
		provider = "script-src 'self' https://accounts.google.com/gsi/client; style-src 'self' https://accounts.google.com/gsi/style; " +
			"frame-src https://accounts.google.com/gsi/; "
	}
	if gatewayURL != "" && !strings.ContainsAny(gatewayURL, " ;,'\"") {
		connect += " " + gatewayURL
	}
	return "default-src 'self'; " + provider + "connect-src " + connect + "; img-src 'self' data: blob:; media-src 'self' blob:; object-src 'none'; " +
		"base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
}

// log writes the one line of a request. Paths hold nothing secret and are logged by operation; queries can, and are not.
func (s *server) log(r *http.Request, l *line, w *answer, took time.Duration) {
	status := w.status
	if status == 0 {
		status = http.StatusOK
	}
	if s.o.Observe != nil {
		s.o.Observe(l.operation, status, took)
	}
	level := slog.LevelInfo
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	attrs := []slog.Attr{
		slog.String("request_id", l.id), slog.String("method", r.Method), slog.String("operation", l.operation),
		slog.Int("status", status), slog.Int64("bytes", w.bytes), slog.Duration("took", took), slog.String("remote", host),
	}
	if l.developer.ID != "" {
		attrs = append(attrs, slog.String("developer_id", l.developer.ID))
	}
	if l.err != nil {
		attrs = append(attrs, slog.String("err", l.err.Error()))
		if status >= http.StatusInternalServerError && status != http.StatusNotImplemented {
			level = slog.LevelError
		}
		if errors.Is(l.err, context.Canceled) {
			level = slog.LevelInfo
		}
	}
	s.o.Log.LogAttrs(r.Context(), level, "request", attrs...)
}

// requestID is the client's own id if it is usable, else a new one.
func requestID(r *http.Request) string {
	id := r.Header.Get("X-Request-Id")
	usable := id != "" && len(id) <= RequestIDMax && !strings.ContainsFunc(id, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' && c != '.'
	})
	if usable {
		return id
	}
	return uuid.NewString()
}

// answer remembers what was answered.
type answer struct {
	http.ResponseWriter
	status int
	bytes  int64
}

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (a *answer) Write(b []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	n, err := a.ResponseWriter.Write(b)
	a.bytes += int64(n)
	return n, err
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
