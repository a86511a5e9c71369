package scan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"modelgate.internal/dataplane/internal/upstream"
	"modelgate.internal/shared/bind"
	"modelgate.internal/shared/wire"
)

// Bounds of the values, as the bind tags of wire.AgentRequest state them.
const (
	turnsMax       = 1000
	maxTokensMax   = 1_000_000
	temperatureMax = 2
)

// Defaults of absent fields, as the bind tags of wire.AgentRequest state them.
const defaultMaxTokens = 2048

var (
	defaultModel       = []byte("Darwin") // never written to
	defaultTemperature = []byte("0.7")    // never written to
)

// Request is an agent request. The slices of Chat point into the body or, after the slow reader, into memory of their own.
type Request struct {
	Chat   upstream.Chat
	Model  []byte // decoded: names of models need no escapes
	Stream bool
}

// reset empties r, keeping the storage of the turns.
func (r *Request) reset() {
	turns := r.Chat.Turns[:0]
	*r = Request{}
	r.Chat.Turns = turns
}

// Parse reads body into r, whose storage is reused. The error is a 422 *apierr.Error with all violations.
func Parse(body []byte, r *Request) error {
	if fast(body, r) {
		return nil
	}
	return slow(body, r)
}

func slow(body []byte, r *Request) error {
	r.reset()
	var req wire.AgentRequest
	if err := bind.JSON(body, &req); err != nil {
		return err
	}
	r.Model, r.Stream = []byte(req.Model), req.Stream
	r.Chat.Prompt = Literal(req.Prompt)
	r.Chat.MaxTokens = req.MaxTokens
	r.Chat.Temperature = strconv.AppendFloat(nil, req.Temperature, 'f', -1, 64)
	if req.SystemPrompt != nil {
		r.Chat.System = Literal(*req.SystemPrompt)
	}
	if req.ImageB64 != nil {
		r.Chat.Image = Literal(*req.ImageB64)
	}
	for _, m := range req.Messages {
		r.Chat.Turns = append(r.Chat.Turns, upstream.Turn{Role: Literal(m.Role), Content: Literal(m.Content)})
	}
	return nil
}

// Literal returns s as a JSON string literal. It leaves <, > and & alone, which matter to pages only.
func Literal(s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic(fmt.Sprintf("BUG: scan: a string does not encode: %v", err))
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
