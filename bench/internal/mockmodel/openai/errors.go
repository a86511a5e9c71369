package openai

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// Error is a refusal in the protocol's own shape.
type Error struct {
	// Status is the HTTP status to answer with.
	Status int
	// Message is for the caller.
	Message string
	// Type is the coarse class, for instance "invalid_request_error".
	Type string
	// Param names the field at fault; empty means null on the wire.
	Param string
	// Code is the fine class, for instance "model_not_found"; empty means null on the wire.
	Code string
}

// Error returns the message with its status.
func (e *Error) Error() string { return fmt.Sprintf("%d: %s", e.Status, e.Message) }

// JSON returns the error object as it goes over the wire: {"error":{message,type,param,code}}.
func (e *Error) JSON() []byte {
	type object struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    *string `json:"code"`
	}
	return encode(struct {
		Error object `json:"error"`
	}{object{e.Message, e.Type, orNull(e.Param), orNull(e.Code)}})
}

// Invalid is a 400 about one field. An empty param means the body as a whole.
func Invalid(param, format string, args ...any) *Error {
	return &Error{Status: http.StatusBadRequest, Message: fmt.Sprintf(format, args...), Type: "invalid_request_error", Param: param}
}

// ForStatus is the error object that the real service would send with an HTTP status.
func ForStatus(status int) *Error {
	e := &Error{Status: status, Message: fmt.Sprintf("Simulated failure: %d %s.", status, http.StatusText(status)), Type: "invalid_request_error"}
	switch {
	case status == http.StatusUnauthorized:
		e.Code = "invalid_api_key"
	case status == http.StatusForbidden:
		e.Code = "unsupported_country_region_territory"
	case status == http.StatusNotFound:
		e.Code = "model_not_found"
	case status == http.StatusTooManyRequests:
		e.Type, e.Code = "requests", "rate_limit_exceeded"
	case status >= http.StatusInternalServerError:
		e.Type, e.Code = "server_error", ""
	}
	return e
}

// ModelNotFound is the 404 for a model that is not served.
func ModelNotFound(model string) *Error {
	return &Error{
		Status:  http.StatusNotFound,
		Message: fmt.Sprintf("The model `%s` does not exist or you do not have access to it.", model),
		Type:    "invalid_request_error", Param: "model", Code: "model_not_found",
	}
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// encode marshals without escaping <, > and &, as the real service does.
func encode(v any) []byte {
	var out bytesWriter
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic("BUG: wire value does not encode: " + err.Error())
	}
	return out[:len(out)-1] // Encode adds a line feed
}

// bytesWriter is a slice that grows by writes; it avoids the copy that bytes.Buffer would need at the end.
type bytesWriter []byte

func (b *bytesWriter) Write(p []byte) (int, error) {
	*b = append(*b, p...)
	return len(p), nil
}
