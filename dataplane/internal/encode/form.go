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

// Violations puts what is wrong with a request into one sentence.
func Violations(items []apierr.Item) string {
	var b strings.Builder
	for i := range items {
		if i > 0 {
			b.WriteString("; ")
		}
		if at := paramOf(items[i].Loc); at != "" {
			b.WriteString(at + ": ")
		}
		b.WriteString(items[i].Msg)
		if reason, ok := items[i].Ctx["error"].(string); ok && items[i].Type == "json_invalid" {
			b.WriteString(": " + reason)
		}
	}
	return b.String() + "."
}

// paramOf writes the place of a violation in the body as OpenAI does: messages[0].content.
func paramOf(loc []any) string {
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
