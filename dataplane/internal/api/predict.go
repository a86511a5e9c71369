package api

import (
	"cmp"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/result"
	"modelgate.internal/shared/bind"
	"modelgate.internal/shared/plane"
)

// predictBody is what the members of every form have to be, also of the form that the body does not have.
type predictBody struct {
	Family       string `json:"family"`
	Task         string `json:"task"`
	Action       string `json:"action"`
	AudioBase64  string `json:"audio_base64"`
	SpeakerLabel string `json:"speaker_label"`
}

// taskForm is the body of POST /api/v1/predict that names a task.
type taskForm struct {
	Family    string `json:"family" bind:"required,min=1"`
	Task      string `json:"task" bind:"required,min=1"`
	InputData any    `json:"input_data"`
}

// speakerForm is the one that recognises or registers a speaker.
type speakerForm struct {
	Action       string `json:"action"`
	AudioBase64  string `json:"audio_base64" bind:"required,min=1"`
	SpeakerLabel string `json:"speaker_label" bind:"required,min=1,max=256"`
}

// Predict answers POST /api/v1/predict. A body with family or task, or without a recording, is taken for one that names a task.
func (a *API) Predict(c *call.Call) (call.Answer, error) {
	body, err := read(c, &predictBody{})
	if err != nil {
		return call.Answer{}, err
	}
	if err := ownGallery(c, body, "input_data"); err != nil {
		return call.Answer{}, err
	}
	q := question{path: "/predict", body: body, shape: result.Answer()}
	_, family := body["family"]
	_, task := body["task"]
	_, audio := body["audio_base64"]
	if audio && !family && !task {
		if err := bind.Value(body, []any{"body"}, &speakerForm{}); err != nil {
			return call.Answer{}, err
		}
		q.family, q.task = "darwin", "voice_footprint"
		return a.answer(c, &q)
	}
	var form taskForm
	if err := bind.Value(body, []any{"body"}, &form); err != nil {
		return call.Answer{}, err
	}
	q.family, q.task = form.Family, form.Task
	q.tensor = tensor{as: plane.InferScores, image: imageOf(form.InputData)}
	return a.answer(c, &q)
}

// imageOf returns the image of an input, under either of its names, or "".
func imageOf(input any) string {
	object, _ := input.(map[string]any)
	long, _ := object["image_base64"].(string)
	short, _ := object["image_b64"].(string)
	return cmp.Or(long, short)
}
