package api

import (
	"cmp"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/route"
	"modelgate.internal/dataplane/internal/scan"
	"modelgate.internal/dataplane/internal/upstream"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/bind"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/wire"
)

// textForm is an input that is an object and holds a prompt. Messages without a prompt end with it.
type textForm struct {
	Prompt   string         `json:"prompt"`
	Text     string         `json:"text"`
	Messages []wire.Message `json:"messages" bind:"max=1000"`
}

// predictText answers predict for a task that a prompt is enough for: the model chats or draws.
func (a *API) predictText(c *call.Call, target route.Target, form *taskForm) (call.Answer, error) {
	input, err := textOf(form)
	if err != nil {
		return call.Answer{}, err
	}
	req := &wire.GenerateRequest{
		Family: form.Family, Task: form.Task, Prompt: input.Prompt, MaxTokens: form.MaxTokens, SystemPrompt: form.SystemPrompt, Kwargs: form.Kwargs,
	}
	if target.Upstream.Dialect == plane.DialectImages {
		drawing, err := drawingOf(req, scan.Literal(req.Prompt))
		if err != nil {
			return call.Answer{}, err
		}
		return a.draw(c, target, drawing, false)
	}
	chat, err := chatOf(req)
	if err != nil {
		return call.Answer{}, err
	}
	for _, m := range input.Messages {
		chat.Turns = append(chat.Turns, upstream.Turn{Role: scan.Literal(m.Role), Content: scan.Literal(m.Content)})
	}
	if image := imageOf(form.InputData); image != "" {
		chat.Image = scan.Literal(image)
	}
	return a.ask(c, target, chat, false)
}

// textOf returns the prompt of an input, and the messages before it.
func textOf(form *taskForm) (textForm, error) {
	const at = "input_data"
	var f textForm
	switch input := form.InputData.(type) {
	case string:
		f.Prompt = input
	case map[string]any:
		if err := bind.Value(input, []any{"body", at}, &f); err != nil {
			return f, err
		}
		f.Prompt = cmp.Or(f.Prompt, f.Text)
	}
	if last := len(f.Messages) - 1; f.Prompt == "" && last >= 0 && f.Messages[last].Role == "user" {
		f.Prompt, f.Messages = f.Messages[last].Content, f.Messages[:last]
	}
	if f.Prompt == "" {
		what := "the task " + form.Task + " takes a text: send a string that is not empty, or an object with prompt, text or messages, the last of them the user's"
		return f, apierr.Violations(apierr.Item{
			Type: "value_error", Loc: []any{"body", at}, Msg: "Value error, " + what, Ctx: map[string]any{"error": what},
		})
	}
	return f, nil
}
