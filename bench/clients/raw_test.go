package clients

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"modelgate.internal/shared/wire"
)

// Models of these scenarios, each with an upstream of its own.
const (
	modelOfChunks = "chunked-bodies"
	modelOfTwo    = "two-accounts"
)

const (
	newKeys       = 10  // that are called with in the next line
	streamsAtOnce = 100 // whose bodies come in chunks
	goodCalls     = 25  // of a caller beside one whose calls the model server cannot bear
	goodEvery     = 200 * time.Millisecond
	badEvery      = 50 * time.Millisecond
	interimWithin = 10 * time.Second // "100 Continue"

	lineBytesMax   = 64 << 10 // of a stream
	answerBytesMax = 1 << 20
)

// nextLine is the script of somebody who creates a key and calls in the next line.
func (sys *system) nextLine(t *testing.T) {
	var app wire.App
	sys.portal(t, "POST", "/dev/apps", sys.many, wire.CreateAppRequest{
		Name: "Next line", Environment: "test", Families: []string{}, Tasks: []string{}, RateLimit: 1_000_000,
	}, &app)
	var failed tally
	for range newKeys {
		var key wire.NewKey
		sys.portal(t, "POST", "/dev/apps/"+app.AppID+"/keys", sys.many, nil, &key)
		failed.add(sys.chat(t.Context(), key.Key, "Darwin", "hello"))
	}
	failed.judge(t, "calls with a key that was just created")
}

// tally counts calls and remembers the first that failed.
type tally struct {
	mu            sync.Mutex
	calls, failed int
	first         error
}

func (y *tally) add(err error) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.calls++
	if err != nil {
		y.failed++
		if y.first == nil {
			y.first = err
		}
	}
}

func (y *tally) judge(t *testing.T, what string) {
	t.Helper()
	if y.failed > 0 {
		t.Errorf("%d of %d %s failed, first: %v", y.failed, y.calls, what, y.first)
	}
}

// chat makes a whole call that has to succeed.
func (sys *system) chat(ctx context.Context, key, model, text string) error {
	var answer struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if err := ask(ctx, "POST", sys.in.GatewayURL+"/v1/chat/completions", key, chatBody(model, text, false), &answer); err != nil {
		return err
	}
	if len(answer.Choices) != 1 || !strings.HasPrefix(answer.Choices[0].Message.Content, "Simulated answer.") {
		return fmt.Errorf("answer %+v", answer)
	}
	return nil
}

func chatBody(model, text string, stream bool) map[string]any {
	return map[string]any{"model": model, "stream": stream, "messages": []any{map[string]any{"role": "user", "content": text}}}
}

// expectContinue sends the head first, with the capital letter of Java's client, and the body when it was asked to go on.
func (sys *system) expectContinue(t *testing.T) {
	_, key := sys.key(t, sys.many, 1_000)
	body, err := json.Marshal(chatBody("Darwin", "hello", false))
	if err != nil {
		t.Fatal(err)
	}
	var dial net.Dialer
	c, err := dial.DialContext(t.Context(), "tcp", strings.TrimPrefix(sys.in.GatewayURL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "POST /v1/chat/completions HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"+
		"Content-Length: %d\r\nExpect: 100-Continue\r\n\r\n", key, len(body))
	if err := c.SetReadDeadline(time.Now().Add(interimWithin)); err != nil {
		t.Fatal(err)
	}
	from := bufio.NewReader(c)
	interim, err := http.ReadResponse(from, nil)
	if err != nil {
		t.Fatalf("nobody asks for the body: %v", err)
	}
	if interim.StatusCode != http.StatusContinue {
		t.Fatalf("status %d, want 100", interim.StatusCode)
	}
	if _, err := c.Write(body); err != nil {
		t.Fatal(err)
	}
	if err := c.SetReadDeadline(time.Now().Add(callWait)); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(from, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, answerBytesMax))
	if err != nil || res.StatusCode != http.StatusOK || !strings.Contains(string(text), "Simulated answer.") {
		t.Errorf("status %d, %s, %v", res.StatusCode, text, err)
	}
}

// chunkedBodies has many streams at once whose requests do not say how long they are, as those of any reader.
func (sys *system) chunkedBodies(t *testing.T) {
	_, key := sys.key(t, sys.many, 1_000_000)
	var all sync.WaitGroup
	var failed tally
	for range streamsAtOnce {
		all.Go(func() { failed.add(sys.chunkedStream(t.Context(), key, "[[scenario:many-tokens n=60 delay=50ms]]")) })
	}
	all.Wait()
	failed.judge(t, "streams whose bodies came in chunks")
}

func (sys *system) chunkedStream(ctx context.Context, key, text string) error {
	ctx, cancel := context.WithTimeout(ctx, callWait)
	defer cancel()
	body, err := json.Marshal(chatBody(modelOfChunks, text, true))
	if err != nil {
		return err
	}
	unmeasured := struct{ io.Reader }{strings.NewReader(string(body))} // a type of which net/http does not know the length
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, sys.in.GatewayURL+"/v1/chat/completions", unmeasured)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(res.Body, answerBytesMax))
		return fmt.Errorf("status %d: %s", res.StatusCode, text)
	}
	last := ""
	lines := bufio.NewScanner(res.Body)
	for lines.Buffer(nil, lineBytesMax); lines.Scan(); {
		if lines.Text() != "" {
			last = lines.Text()
		}
	}
	if last != "data: [DONE]" {
		return fmt.Errorf("the stream ends with %q: %w", last, lines.Err())
	}
	return nil
}

// twoAccounts has one developer send again and again what makes the model server answer 500. The calls of the other one are none of that.
func (sys *system) twoAccounts(t *testing.T) {
	_, bad := sys.key(t, sys.developer(t, "bad-calls@example.com", 1_000), 1_000_000)
	_, good := sys.key(t, sys.many, 1_000_000)
	ctx, cancel := context.WithCancel(t.Context())
	var beside sync.WaitGroup
	defer beside.Wait()
	defer cancel()
	beside.Go(func() {
		for ctx.Err() == nil {
			beside.Go(func() { _ = sys.chat(ctx, bad, modelOfTwo, "[[scenario:status code=500]]") }) // fails, and is cancelled at the end
			select {
			case <-ctx.Done():
			case <-time.After(badEvery):
			}
		}
	})
	var failed tally
	for i := range goodCalls {
		failed.add(sys.chat(ctx, good, modelOfTwo, fmt.Sprintf("good call %d", i)))
		time.Sleep(goodEvery)
	}
	failed.judge(t, "good calls beside calls that the model server answers with 500")
}
