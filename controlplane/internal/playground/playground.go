package playground

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"strings"
	"time"

	"modelgate.internal/shared/apierr"
)

// Keys finds the value of a key.
type Keys interface {
	// Value returns the current value of a key that works: the chosen one, the oldest of the chosen app, or without a choice
	// the oldest test key. Errors: 404 for what is not the developer's, 409 when no such key works.
	Value(ctx context.Context, developerID, appID, keyID string) (string, error)
	// Session returns a credential for one call of the developer's own session.
	Session(ctx context.Context, developerID string) (string, error)
}

// Playground makes test calls.
type Playground struct {
	keys    Keys
	cameras Cameras
	gateway string
	client  *http.Client
	now     func() time.Time
	room    room
}

// New returns a playground that calls the gateway at a URL without a path.
func New(keys Keys, cameras Cameras, gatewayURL string, now func() time.Time) *Playground {
	return &Playground{
		keys: keys, cameras: cameras, gateway: strings.TrimSuffix(gatewayURL, "/"), now: now,
		room: room{byDeveloper: make(map[string]int)},
		client: &http.Client{
			Transport: &http.Transport{
				DialContext:         (&net.Dialer{Timeout: DialTimeout}).DialContext,
				TLSHandshakeTimeout: DialTimeout, ResponseHeaderTimeout: AnswerTimeout, MaxIdleConnsPerHost: ConnectionsIdleMax,
				IdleConnTimeout: SilenceMax, DisableCompression: true,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// Enter makes room for a call of a developer with a body of so many bytes, -1 when that is not known. The caller calls sent
// when the body is no longer needed and left when the call is over, each once. Error: 429 or 503 when there is no room.
func (p *Playground) Enter(developerID string, bodyBytes int64) (sent, left func(), err error) {
	return p.room.enter(developerID, bodyBytes)
}

// Answer is the gateway's answer. Its status may be any.
type Answer struct {
	Status int
	Header http.Header
	Stream bool          // an event stream
	Length int64         // bytes of the body, -1 when not known
	Body   io.ReadCloser // fails after SilenceMax without a byte
}

// Call makes the call that the portal's body describes and returns the answer as soon as its head is there. The body of
// the answer must be closed. When ctx ends so does the call. Errors: 404 and 409 of the key, 409 for a camera that is not
// calibrated, 422, 502 when the gateway cannot be reached or answers what no gateway does.
func (p *Playground) Call(ctx context.Context, developerID string, op Operation, body []byte, requestID string) (*Answer, error) {
	q, err := translate(op, body)
	if err != nil {
		return nil, err
	}
	if op == MulticamIdentify {
		if err := p.addCalibrations(ctx, developerID, &q); err != nil {
			return nil, err
		}
	}
	key, err := p.credential(ctx, developerID, op, &q)
	if err != nil {
		return nil, err
	}
	return p.send(ctx, q, key, requestID)
}

// credential is what the call is made with. Without a choice that is the developer's own session; a task is made with the oldest test
// key as long as there is one, so that it costs nothing of the day.
func (p *Playground) credential(ctx context.Context, developerID string, op Operation, q *question) (string, error) {
	switch {
	case q.apiKey != "":
		return q.apiKey, nil
	case q.appID == "" && q.keyID == "":
		if op == Task || op == TaskStream {
			value, err := p.keys.Value(ctx, developerID, "", "")
			if err == nil || apierr.From(err).Kind != apierr.Conflict {
				return value, err
			}
		}
		return p.keys.Session(ctx, developerID)
	}
	return p.keys.Value(ctx, developerID, q.appID, q.keyID)
}

func (p *Playground) send(ctx context.Context, q question, key, requestID string) (*Answer, error) {
	ctx, cancel := context.WithCancel(ctx)
	body, err := q.encode()
	if err != nil {
		cancel()
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.gateway+q.path, bytes.NewReader(body))
	if err != nil {
		cancel()
		return nil, fmt.Errorf("make a request to the gateway: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("X-Request-Id", requestID)
	res, err := p.client.Do(req)
	if err != nil {
		cancel()
		return nil, unreachable(ctx, err)
	}
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	stream := media == "text/event-stream"
	if !stream && media != "application/json" || res.StatusCode >= 300 && res.StatusCode < 400 {
		res.Body.Close()
		cancel()
		return nil, apierr.New(apierr.BadGateway, "The gateway's address does not answer as a gateway does. Its operator has to check gateway_internal_url.").
			Because(fmt.Errorf("status %d, %s", res.StatusCode, media))
	}
	return &Answer{
		Status: res.StatusCode, Header: res.Header, Stream: stream, Length: res.ContentLength,
		Body: &lively{body: res.Body, cancel: cancel, silence: time.AfterFunc(SilenceMax, cancel)},
	}, nil
}

// unreachable is what a call that got no answer means for the developer.
func unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		err = errors.Join(ctx.Err(), err)
	}
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		return apierr.New(apierr.BadGateway, "The gateway did not answer in time. Try again, with less to do if it was much.").Because(err)
	}
	return apierr.New(apierr.BadGateway, "The gateway cannot be reached. Try again in a moment.").Because(err)
}

// lively is a body that must not be silent for long.
type lively struct {
	body    io.ReadCloser
	cancel  context.CancelFunc
	silence *time.Timer
}

// Read implements io.Reader.
func (l *lively) Read(b []byte) (int, error) {
	n, err := l.body.Read(b)
	if n > 0 {
		l.silence.Reset(SilenceMax)
	}
	return n, err //nolint:wrapcheck // io.Reader's own io.EOF must stay as it is
}

// Close implements io.Closer.
func (l *lively) Close() error {
	l.silence.Stop()
	l.cancel()
	if err := l.body.Close(); err != nil {
		return fmt.Errorf("close the gateway's answer: %w", err)
	}
	return nil
}
