package faults

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"modelgate.internal/shared/wire"
)

// heard is everything that a caller learned from one call.
type heard struct {
	err    error // the exchange itself broke, or what came breaks the protocol
	status int
	header http.Header
	took   time.Duration

	text     string // of the answer, or of the deltas together
	deltas   int
	comments int              // of a stream
	failure  *wire.ErrorEvent // that a stream ended with, or the body of another status than 200
	usage    *wire.TokenUsage // of a whole answer
	left     bool             // the caller did not wait for the end
	at       time.Time        // when it was over, or when the caller left
}

// call is one request as a well-behaved client makes it.
type call struct {
	url, key, model, prompt string
	stream                  bool
	leave                   *leave // nil stays to the end
}

// leave says when the caller walks away.
type leave struct {
	deltas int           // after so many; with 0, before any
	after  time.Duration // with deltas 0: after the request was sent
}

var errLeft = errors.New("the caller left")

func (c call) do(ctx context.Context, client *http.Client) heard {
	var h heard
	begun := time.Now()
	ctx, cancel := context.WithTimeout(ctx, callWait)
	defer cancel()
	if c.leave != nil && c.leave.deltas == 0 {
		time.AfterFunc(c.leave.after, cancel)
	}
	h.err = c.exchange(ctx, client, &h)
	h.at = time.Now()
	h.took = h.at.Sub(begun)
	if c.leave != nil && (errors.Is(h.err, context.Canceled) || errors.Is(h.err, errLeft)) {
		h.err, h.left = nil, true
	}
	return h
}

func (c call) exchange(ctx context.Context, client *http.Client, h *heard) error {
	body, err := json.Marshal(map[string]any{"prompt": c.prompt, "model": c.model, "stream": c.stream})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+c.key)
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	h.status, h.header = res.StatusCode, res.Header
	if c.stream && res.StatusCode == http.StatusOK {
		if got := res.Header.Get("Content-Type"); !strings.HasPrefix(got, "text/event-stream") {
			return fmt.Errorf("content type %q", got)
		}
		return h.follow(res.Body, c.leave)
	}
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	return h.whole(text, c.model)
}

// whole reads an answer that is no stream.
func (h *heard) whole(text []byte, model string) error {
	if got := h.header.Get("Content-Type"); !strings.HasPrefix(got, "application/json") {
		return fmt.Errorf("status %d with content type %q: %.200s", h.status, got, text)
	}
	if h.status != http.StatusOK {
		h.failure = &wire.ErrorEvent{}
		if err := json.Unmarshal(text, h.failure); err != nil || h.failure.Detail == "" {
			return fmt.Errorf("status %d without a detail: %.200s", h.status, text)
		}
		h.failure.Status = h.status
		return nil
	}
	var answer wire.TextAnswer
	if err := json.Unmarshal(text, &answer); err != nil {
		return fmt.Errorf("answer %.200s: %w", text, err)
	}
	if answer.Type != "text" || answer.Model != model || answer.Backend != "simulator" {
		return fmt.Errorf("answer %.200s", text)
	}
	h.text, h.usage = answer.Text, &answer.Usage
	return nil
}

// follow reads a stream and is strict: blocks of one line, nothing but deltas and comments, then at most one error, then
// [DONE] once, then the end of the body.
func (h *heard) follow(body io.Reader, l *leave) error {
	r := bufio.NewReader(body)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return fmt.Errorf("after %d deltas the stream ends without [DONE]: %q: %w", h.deltas, line, err)
		}
		empty, err := r.ReadString('\n')
		if err != nil || empty != "\n" {
			return fmt.Errorf("%q is followed by %q: %w", line, empty, err)
		}
		data, found := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "data: ")
		switch {
		case strings.HasPrefix(line, ":"):
			h.comments++
		case !found:
			return fmt.Errorf("not an event: %q", line)
		case data == "[DONE]":
			if rest, err := io.ReadAll(r); len(rest) > 0 || err != nil {
				return fmt.Errorf("after [DONE]: %q: %w", rest, err)
			}
			return nil
		default:
			if err := h.event(data); err != nil {
				return err
			}
		}
		if l != nil && l.deltas > 0 && h.deltas >= l.deltas {
			return errLeft
		}
	}
}

func (h *heard) event(data string) error {
	var e struct {
		Type, Text, Detail string
		Status             int
	}
	if err := json.Unmarshal([]byte(data), &e); err != nil {
		return fmt.Errorf("event %q: %w", data, err)
	}
	switch {
	case h.failure != nil:
		return fmt.Errorf("after the error event: %q", data)
	case e.Type == "delta":
		h.text += e.Text
		h.deltas++
	case e.Type == "error" && e.Detail != "":
		h.failure = &wire.ErrorEvent{Type: e.Type, Status: e.Status, Detail: e.Detail}
	default:
		return fmt.Errorf("unknown event %q", data)
	}
	return nil
}
