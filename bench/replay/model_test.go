package replay

import (
	"io"
	"net/http"
)

// answer is what the model server says to everything.
const answer = `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"finish_reason":"stop",` +
	`"message":{"role":"assistant","content":"Hello."}}],"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10}}`

// model is an OpenAI-compatible server without a delay.
func model(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, answer)
}
