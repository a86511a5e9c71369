package api

import (
	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/route"
	"modelgate.internal/dataplane/internal/scan"
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
	note(c, target, route.AgentTask)
	if err != nil {
		return call.Answer{}, err
	}
	return a.ask(c, target, &r.Chat, r.Stream)
}
