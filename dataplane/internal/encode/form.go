package encode

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/wire"
)

// Form is how errors are written, which depends on whose clients a path is for.
type Form uint8

// The forms.
const (
	Ours   Form = iota // {"detail": ...}; a stream that failed ends with an error event and [DONE]
	OpenAI             // {"error": ...}; a stream that failed ends with that as an event, and without [DONE]
)

// errorOf returns the status and the body of an error.
func (f Form) errorOf(err error) (status int, body []byte) {
	if f == Ours {
		return apierr.Wire(err)
	}
	e := apierr.From(err)
	return f.Status(e), must(openAIError(e))
}

// Status is the status of an error.
func (f Form) Status(e *apierr.Error) int {
	if f == OpenAI && e.Kind == apierr.Invalid { // its clients take 422 for something else
		return apierr.BadRequest.Status()
	}
	return e.Kind.Status()
}

// event returns the event of a stream that failed, or that a limit of model tokens ended.
func (f Form) event(out *call.Outcome) []byte {
	e := apierr.From(out.Err)
	var limited *wire.LimitReachedEvent
	if out.End == plane.EndLimit {
		reset, _ := e.RetrySeconds()
		limited = &wire.LimitReachedEvent{
			Type: "limit_reached", Status: e.Kind.Status(), Detail: e.Detail, Limit: out.Limit, ResetSeconds: reset,
			Usage: wire.TokenUsage{TokensIn: out.Usage.TokensIn, TokensOut: out.Usage.TokensOut, Source: out.Usage.Source},
		}
	}
	if f == OpenAI {
		told := openAIError(e)
		told.LimitReached = limited
		return must(told)
	}
	if limited != nil {
		return must(limited)
	}
	return must(wire.ErrorEvent{Type: "error", Status: e.Kind.Status(), Detail: e.Detail})
}

func must(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("BUG: encode: an error does not encode: %v", err))
	}
	return text
}

// openAIError says an error in the words that OpenAI's clients look for.
func openAIError(e *apierr.Error) wire.OpenAIError {
	body := wire.OpenAIErrorBody{Message: e.Detail, Type: "invalid_request_error"}
	code := ""
	switch e.Kind {
	case apierr.Unauthorized:
		code = "invalid_api_key"
	case apierr.Forbidden:
		code = "insufficient_permissions"
	case apierr.NotFound:
		code = "not_found"
	case apierr.Limited:
		body.Type, code = "rate_limit_error", "rate_limit_exceeded"
	case apierr.BadGateway:
		body.Type, code = "server_error", "upstream_error"
	case apierr.Unavailable:
		body.Type, code = "server_error", "unavailable"
	case apierr.Internal, apierr.NotBuilt:
		body.Type = "server_error"
	case apierr.Invalid:
		if len(e.Items) > 0 {
			body.Message, code = Violations(e.Items), e.Items[0].Type
			if at := param(e.Items[0].Loc); at != "" {
				body.Param = &at
			}
		}
	case apierr.BadRequest, apierr.NotAllowed, apierr.Timeout, apierr.Conflict, apierr.TooLarge, apierr.UnsupportedCoding, apierr.HeaderTooLarge,
		apierr.VersionNotSupported:
	}
	if code != "" {
		body.Code = &code
	}
	return wire.OpenAIError{Error: body}
}

// Violations puts what is wrong with a request into one sentence.
func Violations(items []apierr.Item) string {
	var b strings.Builder
	for i := range items {
		if i > 0 {
			b.WriteString("; ")
		}
		if at := param(items[i].Loc); at != "" {
			b.WriteString(at + ": ")
		}
		b.WriteString(items[i].Msg)
		if reason, ok := items[i].Ctx["error"].(string); ok && items[i].Type == "json_invalid" {
			b.WriteString(": " + reason)
		}
	}
	return b.String() + "."
}

// param writes the place of a violation in the body as OpenAI does: messages[0].content.
func param(loc []any) string {
	var b strings.Builder
	for _, step := range loc[min(1, len(loc)):] {
		switch step := step.(type) {
		case int:
			b.WriteString("[" + strconv.Itoa(step) + "]")
		case string:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(step)
		}
	}
	return b.String()
}
