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

// BiometrixArgs are the arguments of the skills biometrix_enroll and biometrix_identify.
type BiometrixArgs struct {
	Action    string         `json:"action" bind:"required,enum=enroll|identify|list_enrolled|delete_enrolled"`
	Task      string         `json:"task" bind:"required,enum=face|iris|liveness|gait|footprint|person_reid|object_signature"`
	UserID    string         `json:"user_id" bind:"min=1,max=256"` // required to enroll and to delete
	ImageB64  string         `json:"image_b64" bind:"min=1"`       // required to enroll and to identify
	Threshold float64        `json:"threshold" bind:"min=0,max=1,default=0.5"`
	Metadata  map[string]any `json:"metadata"` // stored with the enrollment
}

// CreatePDFArgs are the arguments of the skill create_pdf. They may have other properties.
type CreatePDFArgs struct {
	Title    string `json:"title" bind:"required"`
	Sections []any  `json:"sections" bind:"required"`
}
