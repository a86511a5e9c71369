package soak

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// class is how a caller saw its call end.
type class string

const (
	done    class = "done"    // the whole answer
	left    class = "left"    // the caller left, or stopped reading
	revoked class = "revoked" // the key was revoked after the call had been let in
	failed  class = "failed"  // a status of 5xx, or an error event
	refused class = "refused" // 401 before it was counted
	broken  class = "broken"  // what no caller should see
)

// manner is how a caller behaves.
type manner struct {
	name   string
	prompt string // with the simulator's scenario
	stream bool
	leave  int           // after so many events; 0 stays
	pause  time.Duration // between two events
	stop   time.Duration // of reading, after the first event
}

// tally counts what a group of callers saw.
type tally struct {
	mu    sync.Mutex
	seen  map[class]int
	words []string // about calls that broke
}

func newTally() *tally { return &tally{seen: map[class]int{}} }

func (y *tally) add(c class, why string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.seen[c]++
	if why != "" && len(y.words) < 20 {
		y.words = append(y.words, string(c)+": "+why)
	}
}

func (y *tally) of(c class) int {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.seen[c]
}

// counted is how many calls the node has to have counted.
func (y *tally) counted() int { return y.of(done) + y.of(left) + y.of(revoked) + y.of(failed) }

// call makes a call and says how it ended. The second result tells of failures.
func call(client *http.Client, url, key, model string, m manner) (class, string) {
	body, err := json.Marshal(map[string]any{"prompt": m.prompt, "model": model, "stream": m.stream, "max_tokens": 1_000_000})
	if err != nil {
		return broken, err.Error()
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/api/v1/agent", bytes.NewReader(body))
	if err != nil {
		return broken, err.Error()
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", "application/json")
	res, err := client.Do(req)
	if err != nil {
		return broken, err.Error()
	}
	defer res.Body.Close()
	if m.stream && res.StatusCode == http.StatusOK {
		return follow(bufio.NewReader(res.Body), m)
	}
	text, err := io.ReadAll(res.Body)
	switch letIn := res.Header.Get("X-Limit-Mode") != ""; {
	case err != nil:
		return broken, err.Error()
	case res.StatusCode == http.StatusOK:
		return done, ""
	case res.StatusCode == http.StatusUnauthorized && !letIn:
		return refused, ""
	case res.StatusCode == http.StatusUnauthorized:
		return revoked, ""
	case res.StatusCode >= http.StatusInternalServerError:
		return failed, fmt.Sprintf("status %d: %s", res.StatusCode, text)
	}
	return broken, fmt.Sprintf("status %d: %s", res.StatusCode, text)
}

// follow reads a stream to its end, or as far as the caller cares.
func follow(r *bufio.Reader, m manner) (class, string) {
	end, why := done, ""
	for events := 0; ; {
		line, err := r.ReadString('\n')
		data, isEvent := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		switch {
		case err != nil:
			return broken, fmt.Sprintf("%s: after %d events: %q, %v", m.name, events, line, err)
		case data == "[DONE]":
			return end, why
		case !isEvent:
			continue
		case strings.HasPrefix(data, `{"type":"error","status":401,`):
			end = revoked
			continue
		case strings.HasPrefix(data, `{"type":"error",`):
			end, why = failed, data
			continue
		case end != done:
			return broken, fmt.Sprintf("after the error event: %q", data)
		}
		if events++; events == m.leave {
			time.Sleep(m.stop)
			return left, ""
		}
		time.Sleep(m.pause)
	}
}
