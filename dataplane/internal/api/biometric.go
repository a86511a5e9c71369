package api

import (
	"fmt"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/result"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/wire"
)

// biometrix is the family of the biometric operations, and of those on scenes.
const biometrix = "biometrix"

// Detect answers POST /api/v1/detect.
func (a *API) Detect(c *call.Call) (call.Answer, error) {
	var req wire.ImageTaskRequest
	body, err := read(c, &req)
	if err != nil {
		return call.Answer{}, err
	}
	return a.answer(c, &question{path: "/detect", family: biometrix, task: req.Task, body: body, shape: result.Detect()})
}

// Extract answers POST /api/v1/extract.
func (a *API) Extract(c *call.Call) (call.Answer, error) {
	var req wire.ImageTaskRequest
	body, err := read(c, &req)
	if err != nil {
		return call.Answer{}, err
	}
	return a.answer(c, &question{
		path: "/extract", family: biometrix, task: req.Task, body: body, shape: result.Extract(),
		tensor: tensor{as: plane.InferEmbedding, image: req.InputData.ImageBase64},
	})
}

// Compare answers POST /api/v1/compare.
func (a *API) Compare(c *call.Call) (call.Answer, error) {
	var req wire.CompareRequest
	body, err := read(c, &req)
	if err != nil {
		return call.Answer{}, err
	}
	return a.answer(c, &question{path: "/compare", family: biometrix, task: req.Task, body: body, shape: result.Compare()})
}

// Identify answers POST /api/v1/identify. The body names no gallery, so the server is told the caller's.
func (a *API) Identify(c *call.Call) (call.Answer, error) {
	var req wire.ImageTaskRequest
	body, err := read(c, &req)
	if err != nil {
		return call.Answer{}, err
	}
	if err := ownGallery(c, body, "input_data"); err != nil {
		return call.Answer{}, err
	}
	input, _ := body["input_data"].(map[string]any)
	input["org_id"] = c.Caller.Account()
	return a.answer(c, &question{path: "/identify", family: biometrix, task: req.Task, body: body, shape: result.Identify()})
}

// Enroll answers POST /api/v1/enroll.
func (a *API) Enroll(c *call.Call) (call.Answer, error) {
	var req wire.EnrollRequest
	body, err := read(c, &req)
	if err != nil {
		return call.Answer{}, err
	}
	return a.inGallery(c, &question{path: "/enroll", family: biometrix, task: req.Task, body: body, shape: result.Enroll()})
}

// DeleteEnrollment answers DELETE /api/v1/enroll and POST /api/v1/delete_enrollment. Servers are asked at the latter.
func (a *API) DeleteEnrollment(c *call.Call) (call.Answer, error) {
	var req wire.DeleteEnrollmentRequest
	body, err := read(c, &req)
	if err != nil {
		return call.Answer{}, err
	}
	return a.inGallery(c, &question{path: "/delete_enrollment", family: biometrix, task: req.Task, body: body, shape: result.Delete()})
}

// Match answers POST /api/v1/match.
func (a *API) Match(c *call.Call) (call.Answer, error) {
	var req wire.MatchRequest
	body, err := read(c, &req)
	if err != nil {
		return call.Answer{}, err
	}
	return a.inGallery(c, &question{path: "/match", family: biometrix, task: req.Task, body: body, shape: result.Match()})
}

// inGallery is answer for a question about a gallery.
func (a *API) inGallery(c *call.Call, q *question) (call.Answer, error) {
	if err := ownGallery(c, q.body, "input_data"); err != nil {
		return call.Answer{}, err
	}
	return a.answer(c, q)
}

// ownGallery refuses a body that names, itself or in one of its objects, a gallery that is not the caller's. A gallery belongs to the
// organization that owns the key's app, or to the developer where none does; templates are personal data, so no key reaches
// into another account's.
func ownGallery(c *call.Call, body map[string]any, within ...string) error {
	account := c.Caller.Account()
	objects := []map[string]any{body}
	for _, name := range within {
		if object, ok := body[name].(map[string]any); ok {
			objects = append(objects, object)
		}
	}
	for _, object := range objects {
		if id, ok := object["org_id"]; ok && id != account {
			return apierr.New(apierr.Forbidden, fmt.Sprintf("This key reaches the gallery of its own account only: org_id must be %s.", account))
		}
	}
	return nil
}
