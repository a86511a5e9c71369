package wire

// SkillList answers GET /api/v1/skills.
type SkillList struct {
	Skills []Skill `json:"skills"`
}

// Skill is a skill that the key may use. Detail says why it is not available.
type Skill struct {
	Name        string  `json:"name"`
	Description string  `json:"description"`
	Kind        string  `json:"kind"` // "hosted"; "python" and "chain" are reserved
	Family      string  `json:"family"`
	Available   bool    `json:"available"`
	Detail      *string `json:"detail"`
}

// InvokeRequest is the body of POST /api/v1/skills/{skill_name}/invoke.
type InvokeRequest struct {
	Args map[string]any `json:"args" bind:"required"`
}
