package openai

import (
	"encoding/json"
	"strings"

	"modelgate.internal/dataplane/internal/upstream"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/bind"
)

// Request is a chat completion request that was judged.
type Request struct {
	Model  string
	Stream bool
	Chat   upstream.Chat // raw; its ID, Created and Model are for the caller to set
	// Extra are the members that not every model server is passed, by their names. Extend judges them.
	Extra []Member
}

// known are the members with bounds that hold whatever the model. Others are judged by the model server.
type known struct {
	Model     string           `json:"model" bind:"required,min=1"`
	Messages  []message        `json:"messages" bind:"required,min=1,max=1000"`
	Stream    *bool            `json:"stream"`
	Options   *options         `json:"stream_options"`
	N         *int64           `json:"n" bind:"min=1"`
	Tools     []tool           `json:"tools" bind:"max=128"`
	Functions []map[string]any `json:"functions" bind:"max=128"`

	Temperature         *float64 `json:"temperature" bind:"min=0,max=2"`
	TopP                *float64 `json:"top_p" bind:"min=0,max=1"`
	MaxTokens           *int64   `json:"max_tokens" bind:"min=1,max=1000000"`
	MaxCompletionTokens *int64   `json:"max_completion_tokens" bind:"min=1,max=1000000"`

	typed
}

// bound is how many tokens the answer may have, 0 if the request does not say.
func (k *known) bound() int64 {
	switch {
	case k.MaxCompletionTokens != nil:
		return *k.MaxCompletionTokens
	case k.MaxTokens != nil:
		return *k.MaxTokens
	}
	return 0
}

type message struct {
	Role    string `json:"role" bind:"required,enum=system|developer|user|assistant|tool|function"`
	Content any    `json:"content"` // text, or parts
}

type options struct {
	IncludeUsage       bool `json:"include_usage"`
	IncludeObfuscation bool `json:"include_obfuscation"`
}

type tool struct {
	Type     string         `json:"type" bind:"required,enum=function"`
	Function map[string]any `json:"function"`
}

// passedOn are the members that every model server is sent, in the order in which it is.
func passedOn() []string {
	return []string{
		"messages", "tools", "tool_choice", "parallel_tool_calls", "functions", "function_call", "response_format",
		"temperature", "top_p", "max_tokens", "max_completion_tokens", "stop", "seed", "n", "frequency_penalty", "presence_penalty",
		"logit_bias", "logprobs", "top_logprobs", "reasoning_effort", "verbosity", "prediction", "user",
	}
}

// Parse reads a request.
func Parse(body []byte) (*Request, error) {
	var k known
	if err := bind.JSON(body, &k); err != nil {
		return nil, err
	}
	if err := k.checkStop(); err != nil {
		return nil, err
	}
	length, err := checkMessages(k.Messages)
	if err != nil {
		return nil, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil {
		return nil, apierr.New(apierr.BadRequest, "The body is not a JSON object.").Because(err)
	}
	if err := checkOwn(&k, members["stream_options"]); err != nil {
		return nil, err
	}
	fields := make([]byte, 0, len(body))
	var bounds [][2]int
	for _, name := range passedOn() {
		value, sent := members[name]
		if !sent || string(value) == "null" {
			continue
		}
		if len(fields) > 0 {
			fields = append(fields, ',')
		}
		fields = append(fields, '"')
		fields = append(fields, name...)
		fields = append(fields, `":`...)
		at := len(fields)
		fields = append(fields, value...)
		if name == "max_tokens" || name == "max_completion_tokens" {
			bounds = append(bounds, [2]int{at, len(fields)})
		}
	}
	r := &Request{Model: k.Model, Stream: k.Stream != nil && *k.Stream, Extra: extraOf(members)}
	r.Chat.Raw = &upstream.Raw{
		Fields: fields, Tools: len(k.Tools)+len(k.Functions) > 0, TextBytes: length,
		MaxTokens: k.bound(), Bounds: bounds,
		Usage: r.Stream && k.Options != nil && k.Options.IncludeUsage,
	}
	return r, nil
}

// checkMessages judges the contents of messages and returns the length of their text in bytes.
func checkMessages(messages []message) (length int, err error) {
	for i := range messages {
		switch content := messages[i].Content.(type) {
		case nil:
		case string:
			length += len(content)
		case []any:
			n, err := checkParts(content, i)
			if err != nil {
				return 0, err
			}
			length += n
		default:
			return 0, violation("string_type", "Input should be a valid string or a list of parts", "body", "messages", i, "content")
		}
	}
	return length, nil
}

// checkParts judges the parts of a message's content.
func checkParts(parts []any, message int) (length int, err error) {
	for i, value := range parts {
		part, _ := value.(map[string]any)
		at := []any{"body", "messages", message, "content", i}
		switch kind, _ := part["type"].(string); kind {
		case "text", "refusal":
			text, ok := part[kind].(string)
			if !ok {
				return 0, violation("string_type", "Input should be a valid string", append(at, kind)...)
			}
			length += len(text)
		case "image_url":
			image, _ := part["image_url"].(map[string]any)
			url, _ := image["url"].(string)
			if !strings.HasPrefix(url, "data:image/") {
				return 0, violation("value_error", "Value error, send the image itself, as data:image/png;base64,...: "+
					"model servers do not fetch addresses for callers", append(at, "image_url", "url")...)
			}
		case "input_audio":
		default:
			const known = "'text', 'image_url', 'input_audio' or 'refusal'"
			return 0, violation("literal_error", "Input should be "+known, append(at, "type")...)
		}
	}
	return length, nil
}

func violation(kind, msg string, loc ...any) error {
	return apierr.Violations(apierr.Item{Type: kind, Loc: loc, Msg: msg})
}
