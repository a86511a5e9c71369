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

// Make returns the catalog of an installation with the given models, in their order. A task of a model that the contract
// does not name for its family is added to the family. An error lists every model whose family does not exist.
func Make(models []plane.Model) (wire.Catalog, error) {
	c := wire.Catalog{
		Families: families(), Models: make([]wire.CatalogModel, 0, len(models)), Skills: []wire.CatalogSkill{}, Plans: plans(),
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
