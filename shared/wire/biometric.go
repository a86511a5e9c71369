package wire

// BiometricCall is what the bodies of the biometric operations have in common.
type BiometricCall struct {
	Family string `json:"family,omitempty" bind:"enum=biometrix,default=biometrix"`
	Task   string `json:"task,omitempty" bind:"enum=face|iris|liveness|gait|footprint|person_reid|object_signature,default=face"`
}

// ImageInput is an image in base64.
type ImageInput struct {
	ImageBase64 string `json:"image_base64" bind:"required,min=1"`
}

// ImageTaskRequest is the body of POST /api/v1/detect, extract and identify.
type ImageTaskRequest struct {
	BiometricCall
	InputData ImageInput `json:"input_data" bind:"required"`
}

// CompareRequest is the body of POST /api/v1/compare.
type CompareRequest struct {
	BiometricCall
	InputData CompareInput `json:"input_data" bind:"required"`
}

// CompareInput are the two images to compare.
type CompareInput struct {
	Probe     ImageInput `json:"probe" bind:"required"`
	Reference ImageInput `json:"reference" bind:"required"`
}

// EnrollRequest is the body of POST /api/v1/enroll.
type EnrollRequest struct {
	BiometricCall
	InputData EnrollInput `json:"input_data" bind:"required"`
}

// EnrollInput is a sample of a subject of a gallery.
type EnrollInput struct {
	OrgID       string `json:"org_id" bind:"required,min=1,max=128"`
	SubjectID   string `json:"subject_id" bind:"required,min=1,max=256"`
	ImageBase64 string `json:"image_base64" bind:"required,min=1"`
}

// DeleteEnrollmentRequest is the body of DELETE /api/v1/enroll and POST /api/v1/delete_enrollment.
type DeleteEnrollmentRequest struct {
	BiometricCall
	InputData SubjectInput `json:"input_data" bind:"required"`
}

// SubjectInput names a subject of a gallery.
type SubjectInput struct {
	OrgID     string `json:"org_id" bind:"required,min=1,max=128"`
	SubjectID string `json:"subject_id" bind:"required,min=1,max=256"`
}

// MatchRequest is the body of POST /api/v1/match.
type MatchRequest struct {
	BiometricCall
	InputData MatchInput `json:"input_data" bind:"required"`
}

// MatchInput is a sample to look for in a gallery.
type MatchInput struct {
	OrgID       string `json:"org_id" bind:"required,min=1,max=128"`
	ImageBase64 string `json:"image_base64" bind:"required,min=1"`
}
