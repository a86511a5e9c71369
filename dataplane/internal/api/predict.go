package api

import (
	"cmp"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/result"
	"modelgate.internal/dataplane/internal/route"
	"modelgate.internal/shared/bind"
	"modelgate.internal/shared/plane"
)

// predictBody is what the members of every form have to be, also of the form that the body does not have.
type predictBody struct {
	Family       string         `json:"family"`
	Task         string         `json:"task"`
	MaxTokens    int64          `json:"max_tokens"`
	SystemPrompt string         `json:"system_prompt"`
	Kwargs       map[string]any `json:"kwargs"`
	Action       string         `json:"action"`
	AudioBase64  string         `json:"audio_base64"`
	SpeakerLabel string         `json:"speaker_label"`
}

// taskForm is the body of POST /api/v1/predict that names a task.
type taskForm struct {
	Family    string `json:"family" bind:"required,min=1"`
	Task      string `json:"task" bind:"required,min=1"`
	InputData any    `json:"input_data"` // also called input

	// For tasks that a prompt is enough for, as in a wire.GenerateRequest.
	MaxTokens    int64          `json:"max_tokens" bind:"min=1,max=1000000,default=512"`
	SystemPrompt string         `json:"system_prompt"`
	Kwargs       map[string]any `json:"kwargs"`
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
	nameInput(body)
	q := question{path: "/predict", body: body, shape: result.Answer()}
	_, family := body["family"]
	_, task := body["task"]
	_, audio := body["audio_base64"]
	if audio && !family && !task {
		if err := bind.Value(body, []any{"body"}, &speakerForm{}); err != nil {
			return call.Answer{}, err
		}
		q.family, q.task = darwin, voiceFootprint
		return a.answer(c, &q)
	}
	var form taskForm
	if err := bind.Value(body, []any{"body"}, &form); err != nil {
		return call.Answer{}, err
	}
	q.family, q.task = form.Family, form.Task
	target, err := route.ToTask(c.Config, c.Caller, q.family, q.task)
	note(c, target, taskLabel(target, q.task))
	if err != nil {
		return call.Answer{}, err
	}
	switch target.Upstream.Dialect {
	case plane.DialectNative, plane.DialectInfer:
		q.tensor = tensor{as: plane.InferScores, image: imageOf(form.InputData)}
		return a.put(c, target, &q)
	case plane.DialectTranscriptions:
		return call.Answer{}, elsewhere(q.task, "/api/v1/transcribe")
	case plane.DialectSpeech:
		return call.Answer{}, elsewhere(q.task, "/api/v1/synthesize")
	case plane.DialectTranslate:
		return call.Answer{}, elsewhere(q.task, "/api/v1/translate")
	case plane.DialectSearch:
		return call.Answer{}, elsewhere(q.task, "/api/v1/deep-search")
	}
	return a.predictText(c, target, &form)
}

// nameInput gives an input its first name where only the second was used.
func nameInput(body map[string]any) {
	if body["input_data"] == nil && body["input"] != nil {
		body["input_data"] = body["input"]
		delete(body, "input")
	}
}

// imageOf returns the image of an input, under either of its names, or "".
func imageOf(input any) string {
	object, _ := input.(map[string]any)
	long, _ := object["image_base64"].(string)
	short, _ := object["image_b64"].(string)
	return cmp.Or(long, short)
}
