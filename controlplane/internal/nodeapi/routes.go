package nodeapi

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"strconv"
	"time"

	"modelgate.internal/controlplane/internal/ingest"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/bind"
	"modelgate.internal/shared/id"
	"modelgate.internal/shared/plane"
)

// join answers POST JoinPath.
func (h handler) join(w *answer, r *http.Request) error {
	token := bearer(r)
	if err := h.Nodes.CheckToken(token); err != nil { // before the body is looked at
		return err
	}
	var body struct {
		Name  string `json:"name" bind:"required"`
		Build string `json:"build"`
	}
	if err := read(w, r, &body); err != nil {
		return err
	}
	identity, err := h.Nodes.Join(r.Context(), token, plane.JoinRequest{Name: body.Name, Build: body.Build})
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	writeJSON(w, identity)
	return nil
}

// ack answers POST AckPath.
func (h handler) ack(w *answer, r *http.Request) error {
	var body struct {
		Epoch    int64  `json:"epoch" bind:"required,min=0"`
		Version  int64  `json:"version" bind:"required,min=0"`
		KeysHeld int64  `json:"keys_held" bind:"required,min=0"`
		Build    string `json:"build"`
	}
	if err := read(w, r, &body); err != nil {
		return err
	}
	ack := plane.Ack{
		Cursor:   plane.Cursor{Epoch: uint64(body.Epoch), Version: plane.Version(body.Version)},
		KeysHeld: body.KeysHeld, Build: body.Build,
	}
	if err := h.Nodes.Acknowledge(r.Context(), w.node, ack); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// usage answers POST UsagePath.
func (h handler) usage(w *answer, r *http.Request) error {
	number, err := strconv.ParseUint(r.Header.Get(plane.HeaderSegment), 10, 64)
	if err != nil {
		number = math.MaxUint64 // which the receiver refuses
	}
	if r.ContentLength > plane.SegmentBytesMax {
		return apierr.New(apierr.TooLarge, "The segment is too large. Send fewer records.")
	}
	within(w, UploadWait)
	u := ingest.Upload{NodeID: w.node.ID, Node: w.node.Name, Incarnation: r.Header.Get(plane.HeaderIncarnation), Segment: number}
	ack, err := h.Receiver.Take(r.Context(), u, r.Body)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	writeJSON(w, ack)
	return nil
}

// days answers POST DaysPath.
func (h handler) days(w *answer, r *http.Request) error {
	var body struct {
		Day      string   `json:"day" bind:"required"`
		Accounts []string `json:"accounts" bind:"required"`
	}
	if err := read(w, r, &body); err != nil {
		return err
	}
	day, err := time.Parse(time.DateOnly, body.Day)
	switch {
	case err != nil:
		return apierr.New(apierr.BadRequest, "The day is not a date like 2026-03-14.")
	case len(body.Accounts) > plane.DaysAccountsMax:
		return apierr.New(apierr.BadRequest, "There are more than "+strconv.Itoa(plane.DaysAccountsMax)+" accounts. Ask for fewer at a time.")
	}
	for _, account := range body.Accounts {
		if !id.Valid(account) {
			return apierr.New(apierr.BadRequest, "An account is not a UUID.")
		}
	}
	calls, err := h.Days.AccountDays(r.Context(), body.Accounts, day)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	writeJSON(w, plane.DaysAnswer{Calls: calls})
	return nil
}

// config answers GET ConfigPath. The answer ends with the node, its secret or the process.
func (h handler) config(w *answer, r *http.Request) error {
	epoch, err := number(r, "epoch")
	if err != nil {
		return err
	}
	version, err := number(r, "version")
	if err != nil {
		return err
	}
	ctx, end := context.WithCancelCause(r.Context())
	defer end(nil)
	go h.recheck(ctx, end, bearer(r))
	out := &sink{w: w, control: http.NewResponseController(w)}
	_ = out.control.SetReadDeadline(time.Time{}) // nothing more is read; a server's limit would end the stream
	return h.Publisher.Stream(ctx, w.node.ID, plane.Cursor{Epoch: epoch, Version: plane.Version(version)}, out)
}

// sink is the answer that a config stream is written to. Each write has WriteWait.
type sink struct {
	w       *answer
	control *http.ResponseController
}

// Write implements [io.Writer].
func (s *sink) Write(b []byte) (int, error) {
	if s.w.status == 0 {
		s.w.Header().Set("Content-Type", "application/jsonl")
		s.w.Header().Set("Content-Encoding", "zstd")
	}
	if err := s.deadline(); err != nil {
		return 0, err
	}
	return s.w.Write(b)
}

// Flush implements [publish.Sink].
func (s *sink) Flush() error {
	if err := s.deadline(); err != nil {
		return err
	}
	return s.control.Flush()
}

func (s *sink) deadline() error {
	err := s.control.SetWriteDeadline(time.Now().Add(WriteWait))
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}

// number returns a query parameter, 0 without one. Errors: 422.
func number(r *http.Request, name string) (uint64, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, apierr.Violations(apierr.Item{
			Type: "int_parsing", Loc: []any{"query", name}, Input: text,
			Msg: "Input should be a valid integer, unable to parse string as an integer",
		})
	}
	return n, nil
}

// read binds a small JSON body. Errors: 400 when it does not arrive, 413, 422.
func read(w *answer, r *http.Request, into any) error {
	body, err := receive(w, r, BodyBytesMax)
	if err != nil {
		return err
	}
	return bind.JSON(body, into)
}

// receive returns a body. Errors: 400 when it does not arrive, 413.
func receive(w *answer, r *http.Request, bytesMax int) ([]byte, error) {
	within(w, BodyWait)
	body, err := io.ReadAll(io.LimitReader(r.Body, int64(bytesMax)+1))
	if err != nil {
		return nil, apierr.New(apierr.BadRequest, "The body did not arrive.").Because(err)
	}
	if len(body) > bytesMax {
		return nil, apierr.New(apierr.TooLarge, "The body is larger than "+strconv.Itoa(bytesMax)+" bytes.")
	}
	return body, nil
}

// within bounds the rest of the request's body. A server that cannot is one of a test.
func within(w *answer, wait time.Duration) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(wait))
}
