package encode

import (
	"cmp"
	"slices"
	"strings"

	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/wire"
)

// The types of errors that OpenAI's API has, and two of the same kind for what it leaves to the status: LiteLLM takes whatever is an
// invalid_request_error and says no more for a bad request.
const (
	typeRequest   = "invalid_request_error"
	typeForbidden = "request_forbidden"
	typeNotFound  = "not_found_error"
	typeTimeout   = "timeout_error"
	typeLimit     = "rate_limit_error"
	typeQuota     = "insufficient_quota"
	typeServer    = "server_error"
)

// Codes that clients decide by.
const (
	codeContext = "context_length_exceeded" // they shorten the conversation
	codeModel   = "model_not_found"
	codeQuota   = "insufficient_quota" // they do not try again
)

// openAIError says an error in the words that OpenAI's clients look for: they decide by the status, the code, and some by phrases.
func openAIError(e *apierr.Error) wire.OpenAIError {
	word, code := wordsOf(e)
	message, param := e.Detail, e.Param
	switch {
	case e.Kind == apierr.Unauthorized:
		message = "Incorrect API key provided: " + message
	case e.Kind == apierr.Invalid && len(e.Items) > 0:
		message, param = Violations(e.Items), cmp.Or(param, paramOf(e.Items[0].Loc))
		code = codeOf(e.Items[0].Type)
	case e.Kind == apierr.BadRequest && saysContext(message):
		code = codeContext
	}
	body := wire.OpenAIErrorBody{Message: message, Type: word}
	if param != "" {
		body.Param = &param
	}
	if code = cmp.Or(e.Code, code); code != "" {
		body.Code = &code
	}
	return wire.OpenAIError{Error: body}
}

// wordsOf returns the type of an error and the code of its kind, which may be empty.
func wordsOf(e *apierr.Error) (word, code string) {
	switch e.Kind {
	case apierr.Unauthorized:
		return typeRequest, "invalid_api_key"
	case apierr.Forbidden:
		return typeForbidden, "insufficient_permissions"
	case apierr.NotFound:
		if e.Code == codeModel {
			return typeRequest, codeModel
		}
		return typeNotFound, "not_found"
	case apierr.NotAllowed:
		return typeRequest, "method_not_supported"
	case apierr.Timeout:
		return typeTimeout, "request_timeout"
	case apierr.TooLarge:
		return typeRequest, "request_too_large"
	case apierr.HeaderTooLarge:
		return typeRequest, "request_header_too_large"
	case apierr.Limited:
		if e.Code == codeQuota {
			return typeQuota, codeQuota
		}
		return typeLimit, "rate_limit_exceeded"
	case apierr.UnsupportedCoding:
		return typeRequest, "unsupported_content_encoding"
	case apierr.VersionNotSupported:
		return typeRequest, "unsupported_http_version"
	case apierr.NotBuilt:
		return typeServer, "not_implemented"
	case apierr.BadGateway:
		return typeServer, "upstream_error"
	case apierr.Unavailable:
		return typeServer, "unavailable"
	case apierr.Internal:
		return typeServer, ""
	case apierr.BadRequest, apierr.Conflict, apierr.Invalid:
	}
	return typeRequest, ""
}

// codeOf returns OpenAI's code for a violation.
func codeOf(kind string) string {
	switch kind {
	case "missing":
		return "missing_required_parameter"
	case "json_invalid":
		return "invalid_json"
	case "too_long":
		return "array_above_max_length"
	case "too_short":
		return "array_below_min_length"
	case "string_too_long":
		return "string_above_max_length"
	case "string_too_short":
		return "string_below_min_length"
	}
	if strings.HasSuffix(kind, "_type") || strings.HasSuffix(kind, "_parsing") {
		return "invalid_type"
	}
	return "invalid_value"
}

// saysContext reports whether a model server's words, which the detail quotes, mean that the conversation is longer than the model can
// read: vLLM and OpenAI, llama.cpp, and text-generation-inference.
func saysContext(detail string) bool {
	detail = strings.ToLower(detail)
	return slices.ContainsFunc([]string{
		"maximum context length", "exceeds the available context size", "tokens + `max_new_tokens` must be",
	}, func(phrase string) bool { return strings.Contains(detail, phrase) })
}
