package api

import (
	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/result"
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

// Identify answers POST /api/v1/identify. A body that names no gallery is about the account's own.
func (a *API) Identify(c *call.Call) (call.Answer, error) {
	var req wire.ImageTaskRequest
	body, err := read(c, &req)
	if err != nil {
		return call.Answer{}, err
	}
	input, _ := body["input_data"].(map[string]any)
	if _, named := input["org_id"]; !named {
		input["org_id"] = c.Caller.Account()
	}
	return a.answer(c, &question{path: "/identify", family: biometrix, task: req.Task, body: body, shape: result.Identify()})
}

// Enroll answers POST /api/v1/enroll.
func (a *API) Enroll(c *call.Call) (call.Answer, error) {
	var req wire.EnrollRequest
	body, err := read(c, &req)
	if err != nil {
		return call.Answer{}, err
	}
	return a.answer(c, &question{path: "/enroll", family: biometrix, task: req.Task, body: body, shape: result.Enroll()})
}

// DeleteEnrollment answers DELETE /api/v1/enroll and POST /api/v1/delete_enrollment. Servers are asked at the latter.
func (a *API) DeleteEnrollment(c *call.Call) (call.Answer, error) {
	var req wire.DeleteEnrollmentRequest
	body, err := read(c, &req)
	if err != nil {
		return call.Answer{}, err
	}
	return a.answer(c, &question{path: "/delete_enrollment", family: biometrix, task: req.Task, body: body, shape: result.Delete()})
}

// Match answers POST /api/v1/match.
func (a *API) Match(c *call.Call) (call.Answer, error) {
	var req wire.MatchRequest
	body, err := read(c, &req)
	if err != nil {
		return call.Answer{}, err
	}
	return a.answer(c, &question{path: "/match", family: biometrix, task: req.Task, body: body, shape: result.Match()})
}
