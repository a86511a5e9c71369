package plan

import "slices"

// PlanID is the id of the plan that holds for the account.
func (t Terms) PlanID() string { return t.plan().ID }

// Covers reports whether a plan is the wanted one or a larger one. An unknown plan counts as Free, and covers an unknown one never.
func Covers(have, wanted string) bool {
	all := All()
	rank := func(id string) int { return slices.IndexFunc(all, func(p Plan) bool { return p.ID == id }) }
	want := rank(wanted)
	return want >= 0 && max(rank(have), 0) >= want
}
