package openai

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

// Request is the body of POST /v1/chat/completions, as far as the simulator obeys it. Fields it does not know are
// ignored, as compatible servers do.
type Request struct {
	Model               string          `json:"model"`
	Messages            []Message       `json:"messages"`
	Stream              bool            `json:"stream"`
	StreamOptions       *StreamOptions  `json:"stream_options"`
	MaxTokens           *int            `json:"max_tokens"`
	MaxCompletionTokens *int            `json:"max_completion_tokens"`
	Temperature         *float64        `json:"temperature"`
	TopP                *float64        `json:"top_p"`
	N                   *int            `json:"n"`
	Stop                Stop            `json:"stop"`
	Tools               []Tool          `json:"tools"`
	ToolChoice          ToolChoice      `json:"tool_choice"`
	ParallelToolCalls   *bool           `json:"parallel_tool_calls"`
	ResponseFormat      *ResponseFormat `json:"response_format"`
}

// StreamOptions asks for the usage chunk at the end of a stream.
type StreamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

// ResponseFormat asks for JSON instead of prose.
type ResponseFormat struct {
	Type       string `json:"type"`
	JSONSchema struct {
		Schema json.RawMessage `json:"schema"`
	} `json:"json_schema"`
}

// Tool is a function that the caller offers.
type Tool struct {
	Type     string `json:"type"`
	Function struct {
		Name       string          `json:"name"`
		Parameters json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// Decode reads and judges a request body. Every fault is an *Error with status 400.
func Decode(body []byte) (*Request, error) {
	var req Request
	if err := json.Unmarshal(body, &req); err != nil {
		return nil, decodeError(err)
	}
	if err := req.validate(); err != nil {
		return nil, err
	}
	return &req, nil
}

// WantsUsage reports whether a stream has to end with the usage chunk.
func (r *Request) WantsUsage() bool {
	return r.Stream && r.StreamOptions != nil && r.StreamOptions.IncludeUsage
}

// Limit returns the largest number of completion tokens the caller wants, 0 for no limit.
func (r *Request) Limit() int {
	switch {
	case r.MaxCompletionTokens != nil:
		return *r.MaxCompletionTokens
	case r.MaxTokens != nil:
		return *r.MaxTokens
	}
	return 0
}

// LastUser returns the index of the last message of the user, -1 if there is none.
func (r *Request) LastUser() int {
	for i, m := range slices.Backward(r.Messages) {
		if m.Role == "user" {
			return i
		}
	}
	return -1
}

func decodeError(err error) *Error {
	var own *Error
	var wrongType *json.UnmarshalTypeError
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &wrongType):
		e := Invalid(wrongType.Field, "Invalid type for '%s': expected %s, but got %s instead.", wrongType.Field, wrongType.Type, wrongType.Value)
		e.Code = "invalid_type"
		return e
	}
	return Invalid("", "We could not parse the JSON body of your request: %s.", err)
}

func (r *Request) validate() error {
	if r.Model == "" {
		return Invalid("model", "you must provide a model parameter")
	}
	if len(r.Messages) == 0 {
		return Invalid("messages", "Invalid 'messages': empty array. Expected an array with minimum length 1.")
	}
	for i := range r.Messages {
		if err := r.Messages[i].validate(i); err != nil {
			return err
		}
	}
	if r.StreamOptions != nil && !r.Stream {
		return Invalid("stream_options", "The 'stream_options' parameter is only allowed when 'stream' is enabled.")
	}
	if err := r.validateSampling(); err != nil {
		return err
	}
	return r.validateTools()
}

func (r *Request) validateSampling() error {
	if r.MaxTokens != nil && r.MaxCompletionTokens != nil {
		return Invalid("max_tokens", "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.")
	}
	for name, v := range map[string]*int{"max_tokens": r.MaxTokens, "max_completion_tokens": r.MaxCompletionTokens} {
		if v != nil && *v < 1 {
			return outOfRange(name, "integer", "below minimum value. Expected a value >= 1")
		}
	}
	if r.Temperature != nil && (*r.Temperature < 0 || *r.Temperature > 2) {
		return outOfRange("temperature", "decimal", "out of range. Expected a value between 0 and 2")
	}
	if r.TopP != nil && (*r.TopP < 0 || *r.TopP > 1) {
		return outOfRange("top_p", "decimal", "out of range. Expected a value between 0 and 1")
	}
	if r.N != nil && *r.N != 1 {
		return Invalid("n", "The simulator answers exactly one choice: 'n' must be 1.")
	}
	if len(r.Stop) > 4 {
		return Invalid("stop", "Invalid 'stop': array too long. Expected an array with maximum length 4.")
	}
	if f := r.ResponseFormat; f != nil && f.Type != "text" && f.Type != "json_object" && f.Type != "json_schema" {
		return badValue("response_format.type", f.Type, "text", "json_object", "json_schema")
	}
	return nil
}

func (r *Request) validateTools() error {
	if r.Tools != nil && len(r.Tools) == 0 {
		return Invalid("tools", "Invalid 'tools': empty array. Expected an array with minimum length 1.")
	}
	for i := range r.Tools {
		t := &r.Tools[i]
		if t.Type != "function" {
			return badValue("tools.type", t.Type, "function")
		}
		if !validName(t.Function.Name) {
			return Invalid("tools.function.name", "Invalid 'tools[%d].function.name': expected 1 to 64 letters, digits, '_' or '-'.", i)
		}
	}
	switch {
	case r.ToolChoice.Mode == "" || r.ToolChoice.Mode == "none":
	case len(r.Tools) == 0:
		return Invalid("tool_choice", "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.")
	case r.ToolChoice.Mode == "named" && r.tool(r.ToolChoice.Name) == nil:
		return Invalid("tool_choice", "Invalid value for 'tool_choice': the function '%s' is not among 'tools'.", r.ToolChoice.Name)
	}
	return nil
}

func (r *Request) tool(name string) *Tool {
	for i := range r.Tools {
		if r.Tools[i].Function.Name == name {
			return &r.Tools[i]
		}
	}
	return nil
}

func validName(s string) bool {
	const allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
	return s != "" && len(s) <= 64 && strings.Trim(s, allowed) == ""
}

func outOfRange(param, kind, what string) *Error {
	e := Invalid(param, "Invalid '%s': %s value %s.", param, kind, what)
	e.Code = kind + "_out_of_range"
	return e
}

func badValue(param, got string, allowed ...string) *Error {
	e := Invalid(param, "Invalid value: '%s'. Supported values are: '%s'.", got, strings.Join(allowed, "', '"))
	e.Code = "invalid_value"
	return e
}
