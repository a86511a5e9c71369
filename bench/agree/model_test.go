package agree

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
)

// model is an OpenAI-compatible server whose answers have token counts of their own each.
type model struct{ answers atomic.Int64 }

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Stream   bool
		Messages []struct{ Content any }
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil || len(q.Messages) == 0 {
		http.Error(w, `{"error":{"message":"no messages"}}`, http.StatusBadRequest)
		return
	}
	asked := fmt.Sprint(q.Messages[len(q.Messages)-1].Content)
	if strings.Contains(asked, "break down") {
		http.Error(w, `{"error":{"message":"broken"}}`, http.StatusInternalServerError)
		return
	}
	n := m.answers.Add(1)
	usage := fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}`, 10+n, 3*n, 10+4*n)
	if !q.Stream {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"finish_reason":"stop",`+
			`"message":{"role":"assistant","content":"one two"}}],"usage":%s}`, usage)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	chunk := func(choices, rest string) {
		fmt.Fprintf(w, `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[%s]%s}`+"\n\n", choices, rest)
		_ = http.NewResponseController(w).Flush()
	}
	chunk(`{"index":0,"delta":{"role":"assistant","content":"one"}}`, "")
	if strings.Contains(asked, "slowly") {
		<-r.Context().Done() // until the gateway leaves
		return
	}
	chunk(`{"index":0,"delta":{"content":" two"}}`, "")
	chunk(`{"index":0,"delta":{},"finish_reason":"stop"}`, "")
	chunk(``, `,"usage":`+usage)
	fmt.Fprint(w, "data: [DONE]\n\n")
}
