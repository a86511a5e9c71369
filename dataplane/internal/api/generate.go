package api

import (
	"fmt"
	"strconv"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/route"
	"modelgate.internal/dataplane/internal/scan"
	"modelgate.internal/dataplane/internal/upstream"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/bind"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/wire"
)

// Generate answers POST /api/v1/generate.
func (a *API) Generate(c *call.Call) (call.Answer, error) { return a.generate(c, false) }

// GenerateStream answers POST /api/v1/stream.
func (a *API) GenerateStream(c *call.Call) (call.Answer, error) { return a.generate(c, true) }

// chatOptions are the kwargs that tasks answered by a chat model understand. Others are ignored, as unknown properties are
// everywhere.
type chatOptions struct {
	Temperature *float64       `json:"temperature" bind:"min=0,max=2"`
	ImageB64    *string        `json:"image_b64"`
	Messages    []wire.Message `json:"messages" bind:"max=1000"`
}

func (a *API) generate(c *call.Call, stream bool) (call.Answer, error) {
	var req wire.GenerateRequest
	if err := bind.JSON(c.Body, &req); err != nil {
		return call.Answer{}, badPrompt(err)
	}
	target, err := route.ToTask(c.Config, c.Caller, req.Family, req.Task)
	note(c, target, taskLabel(target, req.Task))
	if err != nil {
		return call.Answer{}, err
	}
	if handle := a.audioTask(target, req.Task); handle != nil {
		return handle(c, target, &req, stream)
	}
	switch target.Upstream.Dialect {
	case plane.DialectImages:
		drawing, err := drawingOf(&req, scan.Literal(req.Prompt))
		if err != nil {
			return call.Answer{}, err
		}
		return a.draw(c, target, drawing, stream)
	case plane.DialectTranslate:
		return call.Answer{}, elsewhere(req.Task, "/api/v1/translate")
	case plane.DialectSearch:
		return call.Answer{}, elsewhere(req.Task, "/api/v1/deep-search")
	case plane.DialectInfer:
		return call.Answer{}, elsewhere(req.Task, inferPath(inferAs(c.Config, target, req.Task)))
	case plane.DialectNative:
		return a.generateNative(c, target, &req, stream)
	}
	chat, err := chatOf(&req)
	if err != nil {
		return call.Answer{}, err
	}
	return a.ask(c, target, chat, stream)
}

// elsewhere is the 400 of a task that a prompt does not say enough for.
func elsewhere(task, path string) error {
	return apierr.New(apierr.BadRequest, fmt.Sprintf("The task %s takes more than a prompt: use POST %s.", task, path))
}

// taskLabel keeps names that callers made up out of usage records and metrics.
func taskLabel(target route.Target, task string) string {
	if target.Model.ID == "" {
		return ""
	}
	return task
}

func chatOf(req *wire.GenerateRequest) (*upstream.Chat, error) {
	var options chatOptions
	if err := bind.Value(req.Kwargs, []any{"body", "kwargs"}, &options); err != nil {
		return nil, err
	}
	chat := &upstream.Chat{Prompt: scan.Literal(req.Prompt), MaxTokens: req.MaxTokens}
	if req.SystemPrompt != "" {
		chat.System = scan.Literal(req.SystemPrompt)
	}
	if options.Temperature != nil {
		chat.Temperature = strconv.AppendFloat(nil, *options.Temperature, 'f', -1, 64)
	}
	if options.ImageB64 != nil {
		chat.Image = scan.Literal(*options.ImageB64)
	}
	for _, m := range options.Messages {
		chat.Turns = append(chat.Turns, upstream.Turn{Role: scan.Literal(m.Role), Content: scan.Literal(m.Content)})
	}
	return chat, checkImage(chat, "kwargs", "image_b64")
}
