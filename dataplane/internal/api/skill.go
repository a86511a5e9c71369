package api

import (
	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/result"
	"modelgate.internal/dataplane/internal/route"
	"modelgate.internal/shared/wire"
)

// Skills answers GET /api/v1/skills.
func (a *API) Skills(c *call.Call) (call.Answer, error) {
	list := wire.SkillList{Skills: []wire.Skill{}}
	for _, s := range route.Skills(c.Config, c.Caller) {
		entry := wire.Skill{Name: s.Name, Description: s.Description, Kind: s.Kind, Family: s.Family, Available: true}
		if why := route.UnservedSkill(c.Config, c.Caller, s); why != "" {
			entry.Available, entry.Detail = false, &why
		}
		list.Skills = append(list.Skills, entry)
	}
	return encode(list)
}

// InvokeSkill answers POST /api/v1/skills/{skill_name}/invoke.
func (a *API) InvokeSkill(c *call.Call) (call.Answer, error) {
	target, skill, err := route.ToSkill(c.Config, c.Caller, c.Param)
	note(c, target, skill.Task)
	if err != nil {
		return call.Answer{}, err
	}
	var req wire.InvokeRequest
	if _, err := read(c, &req); err != nil {
		return call.Answer{}, err
	}
	if err := checkArgs(skill.Name, req.Args); err != nil {
		return call.Answer{}, err
	}
	return a.put(c, target, &question{
		path: skill.Path, task: skill.Task, body: map[string]any{"args": req.Args}, shape: result.Skill(skill.Name, req.Args),
	})
}
