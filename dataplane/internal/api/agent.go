package api

import (
	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/route"
	"modelgate.internal/dataplane/internal/scan"
	"modelgate.internal/dataplane/internal/upstream"
	"modelgate.internal/shared/plane"
)

// Agent answers POST /api/v1/agent.
func (a *API) Agent(c *call.Call) (call.Answer, error) {
	r, _ := a.requests.Get().(*scan.Request)
	answer, err := a.agent(c, r)
	if answer.Stream == nil { // else the stream uses the request until the call ends
		a.requests.Put(r)
	}
	return answer, err
}

func (a *API) agent(c *call.Call, r *scan.Request) (call.Answer, error) {
	if err := scan.Parse(c.Body, r); err != nil {
		return call.Answer{}, badPrompt(err)
	}
	if err := checkImage(&r.Chat, "image_b64"); err != nil {
		return call.Answer{}, err
	}
	target, err := route.ToModel(c.Config, c.Caller, r.Model)
	note(c, target, promptTask(c, target))
	if err != nil {
		return call.Answer{}, err
	}
	if target.Upstream.Dialect == plane.DialectImages {
		if r.Chat.Image != nil {
			return call.Answer{}, violation("this model draws from a prompt alone, it does not edit images", "…", "image_b64")
		}
		return a.draw(c, target, &upstream.Drawing{Prompt: r.Chat.Prompt}, r.Stream)
	}
	return a.ask(c, target, &r.Chat, r.Stream)
}

// AgentOnce says whether POST /api/v1/agent would answer with a stream and of what backend, or why it would refuse the call before it
// asks a model. It notes nothing on the call.
func (a *API) AgentOnce(c *call.Call) (stream bool, backend string, err error) {
	r, _ := a.requests.Get().(*scan.Request)
	defer a.requests.Put(r)
	if err := scan.Parse(c.Body, r); err != nil {
		return false, "", err
	}
	if r.Stream && c.Unstreamable {
		return false, "", errOldHTTP
	}
	target, err := route.ToModel(c.Config, c.Caller, r.Model)
	if err != nil {
		return false, "", err
	}
	return r.Stream, route.Backend(c.Config, target.Model), nil
}

// promptTask is the task that the call counts as, also where the model takes no prompts.
func promptTask(c *call.Call, target route.Target) string {
	if task, ok := route.PromptTask(c.Config, target.Model); ok {
		return task
	}
	return route.AgentTask
}
