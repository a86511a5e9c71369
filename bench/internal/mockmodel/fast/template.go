package fast

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"modelgate.internal/bench/internal/mockmodel/openai"
)

// stampDigits is the width of a Unix time in nanoseconds, from 2001 to 2286.
const stampDigits = 19

const (
	marker     = "X-Simulator: modelgate-mockmodel\r\n"
	streamHead = "HTTP/1.1 200 OK\r\n" + marker +
		"Content-Type: text/event-stream; charset=utf-8\r\nCache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n"
)

// Config shapes the answers. All fields may be zero.
type Config struct {
	// Model is named in the answers.
	Model string
	// Events is the number of content events of a stream.
	Events int
	// Batch is the number of content events written together; 0 means 1.
	Batch int
	// Interval is the time between two batches; 0 writes as fast as the caller reads.
	Interval time.Duration
	// FirstDelay is the time before the first content event of a stream, and before a unary answer.
	FirstDelay time.Duration
	// EventBytes is the length of a content event with its "data: " and blank line; 0 means the smallest.
	EventBytes int
	// UnaryBytes is the length of a unary body; 0 means the smallest.
	UnaryBytes int
	// Stamp puts the time into each content event.
	Stamp bool
	// Now is the clock; it must not be nil.
	Now func() time.Time
}

// template holds the prebuilt bytes of all answers. Nothing in it changes after build.
type template struct {
	unary []byte // whole answer
	open  []byte // head and role event
	event []byte // one content event as a chunk
	// stampAt is the offset of the stamp in event, -1 without.
	stampAt   int
	tail      []byte // finish, [DONE], last chunk
	tailUsage []byte // finish, usage, [DONE], last chunk
}

func build(cfg *Config) *template {
	a := &openai.Answer{ID: "chatcmpl-fast", Model: cfg.Model, Created: cfg.Now().Unix(), FinishReason: "stop"}
	a.Usage = openai.Usage{PromptTokens: 1, CompletionTokens: cfg.Events, TotalTokens: cfg.Events + 1}
	empty := ""
	t := &template{stampAt: -1}
	t.open = append([]byte(streamHead), chunk(sse(a.Event(openai.Delta{Role: "assistant", Content: &empty}, "", false)))...)
	t.event = chunk(eventBytes(cfg, a))
	if cfg.Stamp {
		t.stampAt = bytes.Index(t.event, []byte(strings.Repeat("0", stampDigits)))
	}
	finish := chunk(sse(a.Event(openai.Delta{}, "stop", false)))
	end := append(chunk(sse([]byte("[DONE]"))), "0\r\n\r\n"...)
	t.tail = append(append(t.tail, finish...), end...)
	t.tailUsage = append(t.tailUsage, finish...)
	for c := range a.Chunks(true) {
		if c.Kind == openai.KindUsage {
			t.tailUsage = append(t.tailUsage, chunk(sse(c.Data))...)
		}
	}
	t.tailUsage = append(t.tailUsage, end...)
	t.unary = unary(cfg, a)
	return t
}

// eventBytes is one content event, padded to the configured length.
func eventBytes(cfg *Config, a *openai.Answer) []byte {
	text := ""
	if cfg.Stamp {
		text = strings.Repeat("0", stampDigits)
	}
	text += " simulated"
	bare := len(sse(a.Event(openai.Delta{Content: &text}, "", false)))
	text += padding(cfg.EventBytes - bare)
	return sse(a.Event(openai.Delta{Content: &text}, "", false))
}

func unary(cfg *Config, a *openai.Answer) []byte {
	text := "Simulated answer."
	a.Tokens = []string{text}
	bare := len(a.JSON(true))
	a.Tokens = []string{text + padding(cfg.UnaryBytes-bare)}
	body := a.JSON(true)
	return append([]byte("HTTP/1.1 200 OK\r\n"+marker+"Content-Type: application/json\r\nContent-Length: "+
		strconv.Itoa(len(body))+"\r\n\r\n"), body...)
}

func padding(n int) string {
	const word = " simulated"
	n = max(n, 0)
	return strings.Repeat(word, n/len(word)+1)[:n]
}

func sse(data []byte) []byte { return fmt.Appendf(nil, "data: %s\n\n", data) }

func chunk(data []byte) []byte { return fmt.Appendf(nil, "%x\r\n%s\r\n", len(data), data) }
