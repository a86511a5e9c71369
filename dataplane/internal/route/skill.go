package route

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
)

// ToSkill returns the target of a call of a skill. Its model stands for the skill.
func ToSkill(config *plane.Current, caller *call.Caller, name string) (Target, plane.SkillSpec, error) {
	skill, ok := config.Skills[name]
	if !ok {
		known := strings.Join(slices.Sorted(maps.Keys(config.Skills)), ", ")
		return Target{}, skill, apierr.New(apierr.NotFound,
			fmt.Sprintf("There is no skill %.64q. The skills are %s.", name, cmp.Or(known, "not configured yet")))
	}
	model := skillModel(skill)
	if err := allowed(caller, skill.Family, skill.Task); err != nil {
		return Target{Model: model}, skill, err
	}
	target, err := serve(config, caller, model)
	return target, skill, err
}

// Skills returns the skills in a caller's scope, in the order of their names.
func Skills(config *plane.Current, caller *call.Caller) []plane.SkillSpec {
	var list []plane.SkillSpec
	for _, name := range slices.Sorted(maps.Keys(config.Skills)) {
		if s := config.Skills[name]; allowed(caller, s.Family, s.Task) == nil {
			list = append(list, s)
		}
	}
	return list
}

// UnservedSkill is [Unserved] for a skill.
func UnservedSkill(config *plane.Current, caller *call.Caller, skill plane.SkillSpec) string {
	return Unserved(config, caller, skillModel(skill))
}

func skillModel(s plane.SkillSpec) plane.Model {
	return plane.Model{ID: s.Name, Family: s.Family, Tasks: []string{s.Task}, Upstream: s.Upstream, Setting: s.Setting}
}
