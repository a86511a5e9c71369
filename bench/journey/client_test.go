package journey

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// callWait bounds one call; streams included.
const callWait = 30 * time.Second

// answer is an HTTP answer as it was read.
type answer struct {
	status int
	header http.Header
	body   string
}

// into decodes the body.
func (a answer) into(t *testing.T, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.body), v); err != nil {
		t.Fatalf("answer %d %s: %v", a.status, a.body, err)
	}
}

// want ends the test when the status is another one.
func (a answer) want(t *testing.T, status int) answer {
	t.Helper()
	if a.status != status {
		t.Fatalf("status %d, want %d: %s", a.status, status, a.body)
	}
	return a
}

// send makes one call; bearer and body may be missing.
func send(t *testing.T, method, url, bearer string, body any) answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), callWait)
	defer cancel()
	res, err := http.DefaultClient.Do(request(t, ctx, method, url, bearer, body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header, string(text)}
}

func request(t *testing.T, ctx context.Context, method, url, bearer string, body any) *http.Request {
	t.Helper()
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			t.Fatal(err)
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if bearer != "" {
		req.Header.Set("Authorization", "Bearer "+bearer)
	}
	return req
}

// event is one "data:" line of a stream and when it came.
type event struct {
	data string
	at   time.Time
}

// stream makes a streamed call and hands over its events as they come. It returns at the end of the stream, when leave says
// so, or at once with an answer other than 200.
func stream(t *testing.T, url, bearer string, body any, leave func([]event) bool) (events []event, a answer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), callWait)
	defer cancel() // closes the connection if the stream goes on
	res, err := http.DefaultClient.Do(request(t, ctx, "POST", url, bearer, body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	a = answer{status: res.StatusCode, header: res.Header}
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		data, found := strings.CutPrefix(lines.Text(), "data: ")
		switch {
		case found:
			events = append(events, event{data, time.Now()})
		case lines.Text() != "" && !strings.HasPrefix(lines.Text(), ":"):
			a.body += lines.Text()
		}
		if leave != nil && leave(events) {
			return events, a
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatalf("after %d events: %v", len(events), err)
	}
	return events, a
}

// eventually repeats a look until it is satisfied, and fails with its last words otherwise.
func eventually(t *testing.T, within time.Duration, look func() (ok bool, why string)) time.Duration {
	t.Helper()
	for begun := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		ok, why := look()
		took := time.Since(begun)
		if ok {
			return took
		}
		if took > within {
			t.Fatalf("not within %s: %s", within, why)
		}
	}
}
