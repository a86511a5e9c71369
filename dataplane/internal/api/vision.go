package api

import (
	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/result"
	"modelgate.internal/dataplane/internal/route"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/wire"
)

// DepthEstimate answers POST /api/v1/depth-estimate.
func (a *API) DepthEstimate(c *call.Call) (call.Answer, error) {
	var req wire.DepthRequest
	body, err := read(c, &req)
	if err != nil {
		return call.Answer{}, err
	}
	q := question{path: "/depth-estimate", family: biometrix, task: "depth", body: body, shape: result.Depth()}
	target, err := route.ToTask(c.Config, c.Caller, q.family, q.task)
	note(c, target, q.task)
	if err != nil {
		return call.Answer{}, err
	}
	if target.Upstream.Dialect == plane.DialectInfer {
		_, calibrated := body["intrinsics"]
		scene, err := result.SceneOf(&req, calibrated)
		if err != nil {
			return call.Answer{}, apierr.Violations(apierr.Item{
				Type: "value_error", Loc: []any{"body", "image_base64"}, Msg: "Value error, send a PNG or JPEG image in base64",
				Input: req.ImageBase64[:min(len(req.ImageBase64), 40)], Ctx: map[string]any{"error": "not an image"},
			}).Because(err)
		}
		q.tensor = tensor{as: plane.InferDepth, image: req.ImageBase64, scene: scene}
	}
	return a.put(c, target, &q)
}

// SpatialQuery answers POST /api/v1/spatial-query.
func (a *API) SpatialQuery(c *call.Call) (call.Answer, error) {
	var req wire.SpatialRequest
	body, err := read(c, &req)
	if err != nil {
		return call.Answer{}, err
	}
	return a.answer(c, &question{path: "/spatial-query", family: biometrix, task: "spatial", body: body, shape: result.Spatial()})
}

// MulticamIdentify answers POST /api/v1/multicam-identify.
func (a *API) MulticamIdentify(c *call.Call) (call.Answer, error) {
	var req wire.MulticamRequest
	body, err := read(c, &req)
	if err != nil {
		return call.Answer{}, err
	}
	if err := a.addCalibrations(c, &req, body); err != nil {
		return call.Answer{}, err
	}
	return a.answer(c, &question{path: "/multicam-identify", family: biometrix, task: "multicam", body: body, shape: result.Multicam()})
}

// TrackingAnalyze answers POST /api/v1/tracking/analyze. The query parameter that the contract declares is not looked at.
func (a *API) TrackingAnalyze(c *call.Call) (call.Answer, error) {
	var req wire.TrackingRequest
	body, err := read(c, &req)
	if err != nil {
		return call.Answer{}, err
	}
	frames, _ := body["frames"].([]any)
	for i, f := range frames {
		frame, _ := f.(map[string]any)
		if frame["image_base64"] == nil && frame["detections"] == nil {
			return call.Answer{}, apierr.Violations(apierr.Item{
				Type: "value_error", Loc: []any{"body", "frames", i}, Msg: "Value error, a frame needs detections or image_base64",
				Ctx: map[string]any{"error": "an empty frame"},
			})
		}
	}
	return a.answer(c, &question{path: "/tracking/analyze", family: biometrix, task: "tracking", body: body, shape: result.Tracking()})
}
