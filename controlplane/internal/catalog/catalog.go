package catalog

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"modelgate.internal/controlplane/internal/plan"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/wire"
)

// Make returns the catalog of an installation with the given models and skills, in their order. A task of a model that the
// contract does not name for its family is added to the family. An error lists every model and skill whose family, and every
// skill whose task, does not exist.
func Make(models []plane.Model, skills []plane.SkillSpec) (wire.Catalog, error) {
	c := wire.Catalog{
		Families: families(), Models: make([]wire.CatalogModel, 0, len(models)), Skills: make([]wire.CatalogSkill, 0, len(skills)), Plans: plans(),
	}
	var errs []error
	for _, m := range models {
		at := slices.IndexFunc(c.Families, func(f wire.CatalogFamily) bool { return f.ID == m.Family })
		if at < 0 {
			errs = append(errs, fmt.Errorf("models: %s has the family %q; the families are %s", m.ID, m.Family, strings.Join(familyIDs(), ", ")))
			continue
		}
		c.Models = append(c.Models, wire.CatalogModel{
			ID: m.ID, Name: m.ID, Description: describe(m.ID), Family: m.Family, Default: m.ID == defaultModel,
		})
		family := &c.Families[at]
		for _, task := range m.Tasks {
			if !slices.ContainsFunc(family.Tasks, func(t wire.CatalogTask) bool { return t.ID == task }) {
				family.Tasks = append(family.Tasks, wire.CatalogTask{ID: task, Name: task, Description: "A task of " + m.ID + "."})
			}
		}
	}
	for _, s := range skills {
		at := slices.IndexFunc(c.Families, func(f wire.CatalogFamily) bool { return f.ID == s.Family })
		if at < 0 || !slices.ContainsFunc(c.Families[at].Tasks, func(t wire.CatalogTask) bool { return t.ID == s.Task }) {
			errs = append(errs, fmt.Errorf("skills: %s has the task %q of the family %q, which does not exist", s.Name, s.Task, s.Family))
			continue
		}
		c.Skills = append(c.Skills, wire.CatalogSkill{Name: s.Name, Description: s.Description, Family: s.Family})
	}
	return c, errors.Join(errs...)
}

func plans() []wire.Plan {
	all := plan.All()
	shown := make([]wire.Plan, len(all))
	for i, p := range all {
		shown[i] = wire.Plan{ID: p.ID, Name: p.Name, CallsPerDay: p.CallsPerDay, RatePerMinute: p.PerMinute, Families: familyIDs()}
		if p.Apps > 0 {
			shown[i].Apps = &p.Apps
		}
	}
	return shown
}

func familyIDs() []string { return []string{biometrix, darwin, emoticore} }
