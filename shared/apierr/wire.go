package apierr

import (
	"bytes"
	"encoding/json"
	"time"
)

// Wire returns the status and the JSON body that answer err: {"detail": "..."}, or for a 422 {"detail": [item, ...]}.
func Wire(err error) (status int, body []byte) {
	e := From(err)
	var detail any = e.Detail
	if e.Kind == Invalid {
		items := e.Items
		if items == nil {
			items = []Item{}
		}
		detail = items
	}
	body, encodeErr := encode(detail)
	if encodeErr != nil { // an Input that JSON cannot express; the client still learns what was wrong
		body, _ = encode(e.Detail)
	}
	return e.Kind.Status(), body
}

// encode writes the body. Texts such as "Bearer <key>" stay readable: the answer is JSON, never part of a page.
func encode(detail any) ([]byte, error) {
	var b bytes.Buffer
	to := json.NewEncoder(&b)
	to.SetEscapeHTML(false)
	err := to.Encode(struct {
		Detail any `json:"detail"`
	}{detail})
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// RetrySeconds returns the value for a Retry-After header, rounded up to at least 1, and false when e asks for none.
func (e *Error) RetrySeconds() (int64, bool) {
	if e.RetryAfter <= 0 {
		return 0, false
	}
	return int64((e.RetryAfter + time.Second - 1) / time.Second), true
}
