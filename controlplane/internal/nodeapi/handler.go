package nodeapi

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"modelgate.internal/controlplane/internal/ingest"
	"modelgate.internal/controlplane/internal/node"
	"modelgate.internal/controlplane/internal/publish"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
)

// Options are what the routes need.
type Options struct {
	Nodes     *node.Registry
	Publisher *publish.Publisher
	Receiver  *ingest.Receiver
	Days      Days
	Replays   Replays
	Log       *slog.Logger
	Now       func() time.Time
}

// Days reads what was counted.
type Days interface {
	// AccountDays returns how many calls of accounts, which are UUIDs, count against their quotas of the UTC day that begins at
	// day. Accounts without calls are missing.
	AccountDays(ctx context.Context, accounts []string, day time.Time) (map[string]int64, error)
}

type handler struct{ Options }

// Handler serves the internal listener.
func Handler(o Options) http.Handler {
	h := handler{o}
	mux := http.NewServeMux()
	for path, route := range map[string]struct {
		method string
		serve  func(w *answer, r *http.Request) error
	}{
		plane.JoinPath:   {http.MethodPost, h.join},
		plane.ConfigPath: {http.MethodGet, h.known(h.config)},
		plane.AckPath:    {http.MethodPost, h.known(h.ack)},
		plane.UsagePath:  {http.MethodPost, h.known(h.usage)},
		plane.DaysPath:   {http.MethodPost, h.known(h.days)},

		plane.ReplayClaimPath: {http.MethodPost, h.known(h.claimReplay)},
		plane.ReplayRenewPath: {http.MethodPost, h.known(h.renewReplay)},
		plane.ReplayEndPath:   {http.MethodPost, h.known(h.endReplay)},
	} {
		mux.HandleFunc(route.method+" "+path, h.one(route.serve))
		mux.HandleFunc(path, h.one(func(w *answer, _ *http.Request) error {
			w.Header().Set("Allow", route.method)
			return apierr.New(apierr.NotAllowed, "This path takes "+route.method+" only.")
		}))
	}
	mux.HandleFunc("/", h.one(func(*answer, *http.Request) error {
		return apierr.New(apierr.NotFound, "There is no such path on the internal listener.")
	}))
	return mux
}

// answer is a response that remembers what was sent, and what the log line says about the request.
type answer struct {
	http.ResponseWriter
	status int
	node   node.Node
}

// WriteHeader implements [http.ResponseWriter].
func (w *answer) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (w *answer) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap is for [http.ResponseController].
func (w *answer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// one is the way of every request: serve it, turn an error into an answer, log one line.
func (h handler) one(serve func(w *answer, r *http.Request) error) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		w, id, began := &answer{ResponseWriter: rw}, rand.Text(), h.Now()
		w.Header().Set("X-Request-Id", id)
		w.Header().Set("Cache-Control", "no-store")
		err := caught(serve, w, r)
		if err != nil && w.status == 0 {
			refuse(w, err)
		}
		level := slog.LevelDebug
		switch {
		case w.status >= 500:
			level = slog.LevelError
		case w.status >= 400:
			level = slog.LevelWarn
		case r.URL.Path == plane.JoinPath || r.URL.Path == plane.ConfigPath:
			level = slog.LevelInfo
		}
		attrs := []slog.Attr{
			slog.String("id", id), slog.String("method", r.Method), slog.String("path", r.URL.Path), slog.Int("status", w.status),
			slog.String("remote", r.RemoteAddr), slog.Duration("took", h.Now().Sub(began)),
		}
		if w.node.ID != "" {
			attrs = append(attrs, slog.String("node_id", w.node.ID), slog.String("node", w.node.Name))
		}
		if err != nil {
			attrs = append(attrs, slog.Any("error", err))
		}
		h.Log.LogAttrs(r.Context(), level, "node request", attrs...)
	}
}

// caught makes an error of a panic, so that one request cannot take the others along.
func caught(serve func(w *answer, r *http.Request) error, w *answer, r *http.Request) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return serve(w, r)
}

// refuse writes an error. That of a gap also says how far the records are stored, for the node to go on from there.
func refuse(w http.ResponseWriter, err error) {
	w.Header().Set("Content-Type", "application/json")
	if gap, ok := errors.AsType[*ingest.GapError](err); ok {
		w.WriteHeader(http.StatusConflict)
		writeJSON(w, struct {
			Detail string `json:"detail"`
			Seq    uint64 `json:"seq"`
		}{gap.Error(), gap.Stored})
		return
	}
	e := apierr.From(err)
	if e.Kind == apierr.Unauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	if seconds, ok := e.RetrySeconds(); ok {
		w.Header().Set("Retry-After", strconv.FormatInt(seconds, 10))
	}
	status, body := apierr.Wire(err)
	w.WriteHeader(status)
	_, _ = w.Write(body) // a node that has left is no news
}

func writeJSON(w http.ResponseWriter, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		panic("BUG: an answer does not encode: " + err.Error())
	}
	_, _ = w.Write(body) // a node that has left is no news
}

// known lets recognized nodes through.
func (h handler) known(serve func(w *answer, r *http.Request) error) func(w *answer, r *http.Request) error {
	return func(w *answer, r *http.Request) error {
		n, err := h.Nodes.Authenticate(r.Context(), bearer(r))
		if err != nil {
			return err
		}
		w.node = n
		return serve(w, r)
	}
}

// bearer returns the bearer token of a request, "" without one.
func bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// recheck ends a stream once its node is not recognized any more. Recognizing it also notes that it was seen.
func (h handler) recheck(ctx context.Context, end context.CancelCauseFunc, secret string) {
	tick := time.NewTicker(RecheckEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if _, err := h.Nodes.Authenticate(ctx, secret); errors.Is(err, node.ErrSecret) {
			end(err)
			return
		}
	}
}
