package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"modelgate.internal/controlplane/internal/homography"
	"modelgate.internal/controlplane/internal/playground"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/wire"
)

// answeredBy marks what the gateway answered, so that the portal does not take a key's 401 for the end of its session.
const answeredBy = "X-Answered-By"

// passedOn are the headers of the gateway's answers that go on to the portal.
func passedOn() []string {
	return []string{
		"Content-Type", "Retry-After", "X-Request-Id", "X-Config-Version", "X-Modelgate-Backend", "X-Limit-Mode", "RateLimit", "RateLimit-Policy",
		"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "Server-Timing", "WWW-Authenticate", "Allow",
	}
}

// play makes the handler of a test call.
func (a *API) play(op playground.Operation) Handler {
	return a.signedIn(func(w http.ResponseWriter, r *http.Request, developerID string) error {
		sent, left, err := a.Playground.Enter(developerID, r.ContentLength)
		if err != nil {
			return err
		}
		defer left()
		control := http.NewResponseController(w)
		if err := extend(control.SetReadDeadline, time.Now().Add(PlaygroundReadTimeout)); err != nil {
			return err
		}
		body, err := readBody(r, playground.BodyBytesMax)
		if err != nil {
			return err
		}
		if err := extend(control.SetReadDeadline, time.Time{}); err != nil { // from here on, reading only tells whether the browser is there
			return err
		}
		answer, err := a.Playground.Call(r.Context(), developerID, op, body, w.Header().Get("X-Request-Id"))
		sent()
		if err != nil {
			return patiently(control, err)
		}
		defer answer.Body.Close()
		h := w.Header()
		for _, name := range passedOn() {
			if value := answer.Header.Get(name); value != "" {
				h.Set(name, value)
			}
		}
		h.Set(answeredBy, "gateway")
		if answer.Stream {
			return relayStream(w, control, answer, op == playground.DeepSearch)
		}
		return relayWhole(w, control, answer)
	})
}

// extend moves a deadline of the connection. Writers that have none, in tests, need none.
func extend(set func(time.Time) error, to time.Time) error {
	if err := set(to); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return fmt.Errorf("move a deadline of the connection: %w", err)
	}
	return nil
}

// patiently gives the client time to take an error that came late.
func patiently(control *http.ResponseController, cause error) error {
	if err := extend(control.SetWriteDeadline, time.Now().Add(PlaygroundPieceTimeout)); err != nil {
		return errors.Join(cause, err)
	}
	return cause
}

// relayWhole passes an answer of a known length on. If it breaks off, the client sees that there is less than announced; an
// answer that does not say its length is gathered first.
func relayWhole(w http.ResponseWriter, control *http.ResponseController, answer *playground.Answer) error {
	body, length := io.Reader(answer.Body), answer.Length
	if length < 0 {
		text, err := io.ReadAll(io.LimitReader(answer.Body, PlaygroundAnswerBytesMax+1))
		if err != nil || len(text) > PlaygroundAnswerBytesMax {
			return patiently(control, apierr.New(apierr.BadGateway, "The gateway's answer broke off or is too large.").Because(err))
		}
		body, length = strings.NewReader(string(text)), int64(len(text))
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Length", strconv.FormatInt(length, 10))
	if err := patiently(control, nil); err != nil {
		return err
	}
	w.WriteHeader(answer.Status)
	pieces(w, control, io.LimitReader(body, length), nil)
	return nil
}

// relayStream passes events on as they come. A stream that ends before its last line gets an error event and that line.
func relayStream(w http.ResponseWriter, control *http.ResponseController, answer *playground.Answer, text bool) error {
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("X-Accel-Buffering", "no")
	if err := patiently(control, nil); err != nil {
		return err
	}
	w.WriteHeader(answer.Status)
	var end tail
	if !pieces(w, control, answer.Body, &end) || end.done() {
		return nil
	}
	payload, err := json.Marshal(wire.ErrorEvent{Type: "error", Status: http.StatusBadGateway, Detail: "The gateway's answer broke off."})
	if err != nil {
		panic("BUG: api: an error event that is not JSON: " + err.Error())
	}
	name := ""
	if text { // where the payloads are plain text, errors have a name
		name = "event: error\n"
	}
	fmt.Fprintf(w, "\n\n%sdata: %s\n\ndata: [DONE]\n\n", name, payload)
	_ = control.Flush()
	return nil
}

// pieces copies to the client what comes, at once. It returns false when the client has gone, true when there is no more.
func pieces(w http.ResponseWriter, control *http.ResponseController, from io.Reader, end *tail) bool {
	buf := make([]byte, playground.PieceBytes)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if end != nil {
				end.add(buf[:n])
			}
			if extend(control.SetWriteDeadline, time.Now().Add(PlaygroundPieceTimeout)) != nil {
				return false
			}
			if _, err := w.Write(buf[:n]); err != nil {
				return false
			}
			if err := control.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
				return false
			}
		}
		if err != nil {
			return true
		}
	}
}

// tail is the end of what was passed on.
type tail struct{ text []byte }

func (t *tail) add(b []byte) {
	t.text = append(t.text, b...)
	t.text = t.text[max(0, len(t.text)-len("\ndata: [DONE]\r\n\r\n")):]
}

func (t *tail) done() bool {
	text := strings.TrimRight(string(t.text), "\r\n")
	return text == "data: [DONE]" || strings.HasSuffix(text, "\ndata: [DONE]") || strings.HasSuffix(text, "\rdata: [DONE]")
}

func (a *API) calibrate(w http.ResponseWriter, r *http.Request, developerID string) error {
	var req wire.CalibrateRequest
	if err := readJSON(r, &req); err != nil {
		return err
	}
	wait, err := waitOf(r)
	if err != nil {
		return err
	}
	image, wrong := points("src_points", req.SrcPoints)
	floor, alsoWrong := points("dst_points", req.DstPoints)
	if items := append(wrong, alsoWrong...); len(items) > 0 {
		return apierr.Violations(items...)
	}
	camera, err := a.Playground.Calibrate(r.Context(), developerID, playground.Pairs{
		SessionID: req.SessionID, CameraID: req.CameraID, Image: image, Floor: floor,
	})
	if err != nil {
		return err
	}
	return writeJSON(w, wire.CalibrateResult{
		Status: "calibrated", CameraID: camera.CameraID, Inliers: camera.Inliers, TotalPoints: camera.TotalPoints,
		Receipt: a.newestReceipt(r, wait),
	})
}

// points are pairs of numbers, or what is wrong with them.
func points(field string, given [][]float64) ([]homography.Point, []apierr.Item) {
	var items []apierr.Item
	out := make([]homography.Point, len(given))
	for i, p := range given {
		if len(p) != len(out[i]) {
			items = append(items, apierr.Item{
				Type: "value_error", Loc: []any{"body", field, i}, Msg: "Value error, a point has two numbers", Input: len(p),
				Ctx: map[string]any{"error": "a point has two numbers"},
			})
			continue
		}
		out[i] = homography.Point(p)
	}
	return out, items
}
