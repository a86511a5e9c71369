package upstream

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// Many servers answer a request that they cannot serve with a status, or an error, of their own fault: llama.cpp gives 500 to
// whatever its handlers throw (server.cpp, ex_wrapper), Ollama to what its templates refuse. Whoever asked must know that
// another try is no use, and nobody else must suffer from it. So the error's own words decide.

// blamesRequest reports whether an error speaks of the request rather than of the server. Words of a server that is unwell weigh
// more: they may stand beside the others.
func (r *reported) blamesRequest() bool {
	message := strings.ToLower(r.message)
	within := func(word string) bool { return strings.Contains(message, word) }
	switch {
	case slices.ContainsFunc(unwellWords(), within):
		return false
	case slices.Contains([]string{"400", "413", "415", "422"}, r.code):
		return true
	case slices.ContainsFunc(requestKinds(), func(kind string) bool { return strings.Contains(r.kind, kind) || strings.Contains(r.code, kind) }):
		return true
	}
	return r.forbids() || slices.ContainsFunc(requestWords(), within)
}

// forbids reports whether an error says that what was asked for may not be said.
func (r *reported) forbids() bool {
	message := strings.ToLower(r.message)
	return slices.ContainsFunc(forbiddenWords(), func(word string) bool { return strings.Contains(message, word) || r.code == word || r.kind == word })
}

// away reports whether the server says that it cannot serve anybody just now.
func (r *reported) away() bool {
	return r.code == "503" || slices.Contains([]string{"unavailable_error", "overloaded_error"}, r.kind)
}

func unwellWords() []string {
	return []string{"out of memory", "cuda", "allocat", "worker", "engine", "loading", "timed out", "timeout", "connection", "overloaded"}
}

// requestKinds are parts of the types and codes of errors, as OpenAI, vLLM and llama.cpp name them.
func requestKinds() []string {
	return []string{
		"invalid_request", "invalid_prompt", "invalid_image", "invalid_value", "invalid_type", "BadRequest", "exceed_context_size",
		"context_length_exceeded", "string_above_max_length", "unsupported_parameter", "unsupported_value", "missing_required_parameter",
	}
}

// requestWords are what servers say of requests, in lower case. The name of a member alone says nothing: some servers show the request in
// whatever error they have.
func requestWords() []string {
	return []string{
		// tools and templates
		"--jinja", "unsupported param", "invalid tool_choice", "support tools", "cannot use tools", "tools with stream", "chat template", "jinja",
		"roles must alternate", "row 1, column",
		// images and audio
		"image input is not supported", "audio input is not supported", "support image", "support vision", "failed to load image",
		"failed to decode image", "cannot identify image", "invalid image", "invalid base64", "decode base64",
		// lengths
		"context size", "context length", "context window", "prompt is too long", "input is too long", "too large to process",
		// shapes
		"failed to parse", "parse error", "json.exception", "grammar", "json schema", "response_format type",
		"invalid request", "bad request", "missing required", "unknown field",
	}
}

func forbiddenWords() []string {
	return []string{"was flagged", "moderation", "content policy", "content_policy_violation", "content_filter", "content filter"}
}

// codeIn reads an error's code, a string or a number.
func codeIn(value json.RawMessage) string {
	var code string
	if json.Unmarshal(value, &code) == nil {
		return code
	}
	var number float64
	if present(value) && json.Unmarshal(value, &number) == nil {
		return strconv.Itoa(int(number))
	}
	return ""
}
