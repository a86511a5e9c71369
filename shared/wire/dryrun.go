package wire

// DryRun is what would come of a call, as far as the gateway decides it.
type DryRun struct {
	DryRun        bool          `json:"dry_run"` // always true
	Operation     string        `json:"operation"`
	ConfigVersion uint64        `json:"config_version"`
	Caller        DryRunCaller  `json:"caller"`
	Limits        []DryRunLimit `json:"limits"`
	Route         *DryRunRoute  `json:"route"` // nil when the request names no model that there is
	Would         DryRunWould   `json:"would"`
}

// DryRunCaller is who calls and what the key may do; an empty list allows everything of its sort.
type DryRunCaller struct {
	KeyID    string   `json:"key_id"`
	AppID    *string  `json:"app_id"` // nil for a Darwin token
	Kind     string   `json:"kind"`
	Families []string `json:"families"`
	Tasks    []string `json:"tasks"`
}

// DryRunLimit is how a limit stands. Nothing was taken from it.
type DryRunLimit struct {
	Name          string `json:"name"`
	Max           int64  `json:"max"` // calls per window
	WindowSeconds int64  `json:"window_seconds"`
	Remaining     int64  `json:"remaining"`
	ResetSeconds  int64  `json:"reset_seconds"` // until more calls are possible
}

// DryRunRoute is where the call would go.
type DryRunRoute struct {
	Model   string         `json:"model"`
	Family  string         `json:"family"`
	Task    string         `json:"task"`
	Backend string         `json:"backend"`
	Target  *string        `json:"target"` // the upstream or the pool; nil without one, or for a call that is not allowed
	Policy  *string        `json:"policy"` // how the pool chooses; nil for an upstream
	Members []DryRunMember `json:"members"`
	Stream  bool           `json:"stream"`
}

// DryRunMember is how a model server stands on the node.
type DryRunMember struct {
	Upstream    string `json:"upstream"`
	State       string `json:"state"` // up, probing, resting, down or open
	InFlight    int64  `json:"in_flight"`
	BackSeconds int64  `json:"back_seconds"` // until it is asked again, while it is resting or open
}

// DryRunWould is the answer that the call would get: 200 if nothing stands against asking the model, else the refusal.
type DryRunWould struct {
	Status            int     `json:"status"`
	Detail            *string `json:"detail"`
	RetryAfterSeconds *int64  `json:"retry_after_seconds"`
}
