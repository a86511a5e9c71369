package api

import (
	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/openai"
	"modelgate.internal/dataplane/internal/route"
	"modelgate.internal/dataplane/internal/scan"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/wire"
)

// ChatCompletions answers POST /api/v1/chat/completions and POST /v1/chat/completions: an agent call in the words of OpenAI's
// API, which are passed on, and so is the answer.
func (a *API) ChatCompletions(c *call.Call) (call.Answer, error) {
	r, err := openai.Parse(c.Body)
	if err != nil {
		return call.Answer{}, err
	}
	target, err := route.ToChatModel(c.Config, c.Caller, []byte(r.Model))
	note(c, target, route.AgentTask)
	if err != nil {
		return call.Answer{}, err
	}
	if len(r.Extra) > 0 {
		if err := r.Extend(c.Config.Passed(target.Model.Upstream)); err != nil {
			return call.Answer{}, err
		}
	}
	raw := r.Chat.Raw
	raw.Model, raw.ID, raw.Created = scan.Literal(r.Model), scan.Literal("chatcmpl-"+c.ID), c.Started.Unix()
	return a.ask(c, target, &r.Chat, r.Stream)
}

// OpenAIModels answers GET /v1/models: the models that the caller can have a chat with now.
func (a *API) OpenAIModels(c *call.Call) (call.Answer, error) {
	list := wire.OpenAIModels{Object: "list", Data: []wire.OpenAIModel{}}
	for _, m := range route.ChatModels(c.Config, c.Caller) {
		list.Data = append(list.Data, openAIModel(m))
	}
	return encode(list)
}

// OpenAIModel answers GET /v1/models/{model}. A model that is not served is 503 with the setting to make.
func (a *API) OpenAIModel(c *call.Call) (call.Answer, error) {
	target, err := route.ToChatModel(c.Config, c.Caller, []byte(c.Param))
	if err != nil {
		return call.Answer{}, err
	}
	return encode(openAIModel(target.Model))
}

// openAIModel has no time of creation, because no one knows it.
func openAIModel(m plane.Model) wire.OpenAIModel {
	return wire.OpenAIModel{ID: m.ID, Object: "model", OwnedBy: m.Family}
}
