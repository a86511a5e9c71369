package crash

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

// How callers saw their calls end.
const (
	whole   = "whole"   // everything arrived
	left    = "left"    // the caller left
	broken  = "broken"  // the connection broke after the request was sent, or there was none
	refused = "refused" // a status of 4xx or 5xx, or an error event
)

const events = 12 // of a stream

// seen is one call as its caller saw it.
type seen struct {
	how    string
	events int
	why    string
}

// callers are everybody who calls.
type callers struct {
	url, key string
	client   *http.Client

	mu    sync.Mutex
	calls map[string]seen
}

// call makes the nth call. Of four one is whole, one is a stream, and two are streams that are left after some events.
func (c *callers) call(n int) {
	id := fmt.Sprintf("call-%06d", n)
	stream, leave := n%4 != 0, -1
	if n%4 >= 2 {
		leave = (n / 4) % (events + 1)
	}
	body, _ := json.Marshal(map[string]any{
		"prompt": fmt.Sprintf("[[scenario:many-tokens n=%d delay=4ms]] %s.", events, id), "stream": stream, "max_tokens": 1000,
	})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/api/v1/agent", bytes.NewReader(body))
	if err != nil {
		panic(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.key)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Request-Id", id)
	s := c.do(req, stream, leave)
	c.mu.Lock()
	c.calls[id] = s
	c.mu.Unlock()
	if s.how == broken || s.how == refused {
		time.Sleep(20 * time.Millisecond) // the node may be away
	}
}

func (c *callers) do(req *http.Request, stream bool, leave int) seen {
	res, err := c.client.Do(req)
	if err != nil {
		return seen{how: broken, why: err.Error()}
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(res.Body)
		return seen{how: refused, why: fmt.Sprintf("%d %s", res.StatusCode, text)}
	}
	if !stream {
		if _, err := io.ReadAll(res.Body); err != nil {
			return seen{how: broken, why: err.Error()}
		}
		return seen{how: whole}
	}
	return follow(bufio.NewReader(res.Body), leave)
}

func follow(r *bufio.Reader, leave int) seen {
	s := seen{}
	for {
		if s.events == leave {
			s.how = left
			return s
		}
		line, err := r.ReadString('\n')
		data, isEvent := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		switch {
		case err != nil:
			s.how, s.why = broken, err.Error()
			return s
		case data == "[DONE]" && s.why == "":
			s.how = whole
			return s
		case data == "[DONE]":
			s.how = refused
			return s
		case strings.HasPrefix(data, `{"type":"error"`):
			s.why = data
		case isEvent:
			s.events++
		}
	}
}
