package once

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
)

// model is an OpenAI-compatible server that counts what it is asked, by prompt.
type model struct {
	mu    sync.Mutex
	asked map[string]int
	gate  chan struct{} // what is asked to wait waits for it
}

func (m *model) times(prompt string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked[prompt]
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Stream   bool
		Messages []struct{ Content string }
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil || len(q.Messages) == 0 {
		http.Error(w, `{"error":{"message":"no messages"}}`, http.StatusBadRequest)
		return
	}
	prompt := q.Messages[len(q.Messages)-1].Content
	m.mu.Lock()
	m.asked[prompt]++
	n := m.asked[prompt]
	m.mu.Unlock()
	if strings.Contains(prompt, "break down") {
		http.Error(w, `{"error":{"message":"broken"}}`, http.StatusInternalServerError)
		return
	}
	wait := func() {
		if strings.Contains(prompt, "wait") {
			select {
			case <-m.gate:
			case <-r.Context().Done():
			}
		}
	}
	const usage = `"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10}`
	if !q.Stream {
		wait()
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"finish_reason":"stop",`+
			`"message":{"role":"assistant","content":"answer %d"}}],%s}`, n, usage)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	chunk := func(choices, rest string) {
		fmt.Fprintf(w, `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[%s]%s}`+"\n\n", choices, rest)
		_ = http.NewResponseController(w).Flush()
	}
	chunk(`{"index":0,"delta":{"role":"assistant","content":"answer"}}`, "")
	wait()
	chunk(fmt.Sprintf(`{"index":0,"delta":{"content":" %d"}}`, n), "")
	chunk(`{"index":0,"delta":{},"finish_reason":"stop"}`, "")
	chunk(``, ","+usage)
	fmt.Fprint(w, "data: [DONE]\n\n")
}
