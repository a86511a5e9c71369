package apierr

import (
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
	body, encodeErr := json.Marshal(struct {
		Detail any `json:"detail"`
	}{detail})
	if encodeErr != nil { // an Input that JSON cannot express; the client still learns what was wrong
		body, _ = json.Marshal(struct {
			Detail string `json:"detail"`
		}{e.Detail})
	}
	return e.Kind.Status(), body
}

// RetrySeconds returns the value for a Retry-After header, rounded up to at least 1, and false when e asks for none.
func (e *Error) RetrySeconds() (int64, bool) {
	if e.RetryAfter <= 0 {
		return 0, false
	}
	return int64((e.RetryAfter + time.Second - 1) / time.Second), true
}
