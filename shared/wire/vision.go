package wire

// Intrinsics are those of a camera, in pixels.
type Intrinsics struct {
	Fx float64 `json:"fx" bind:"required,min=0.001,max=1000000"`
	Fy float64 `json:"fy" bind:"required,min=0.001,max=1000000"`
	Cx float64 `json:"cx" bind:"required,min=-1000000,max=1000000"`
	Cy float64 `json:"cy" bind:"required,min=-1000000,max=1000000"`
}

// DepthRequest is the body of POST /api/v1/depth-estimate.
type DepthRequest struct {
	ImageBase64 string           `json:"image_base64" bind:"required,min=1"`
	Detections  []DepthDetection `json:"detections" bind:"max=1000"`
	Task        string           `json:"task" bind:"enum=face|object_signature|person_reid,default=face"`
	Intrinsics  Intrinsics       `json:"intrinsics"`
}

// DepthDetection is a detection to be found in space. It may have other properties.
type DepthDetection struct {
	Bbox []float64 `json:"bbox" bind:"required,min=4,max=4"` // left, top, right, bottom in pixels
}

// SpatialRequest is the body of POST /api/v1/spatial-query.
type SpatialRequest struct {
	ImageBase64 string     `json:"image_base64" bind:"required,min=1"`
	OrgID       string     `json:"org_id" bind:"required,min=1,max=128"`
	RadiusM     float64    `json:"radius_m" bind:"required,min=0.01,max=10000"` // metres
	Task        string     `json:"task" bind:"enum=face|object_signature|person_reid,default=face"`
	Intrinsics  Intrinsics `json:"intrinsics"`
}

// MulticamRequest is the body of POST /api/v1/multicam-identify.
type MulticamRequest struct {
	SessionID           string       `json:"session_id"`
	OrgID               string       `json:"org_id" bind:"required,min=1,max=128"`
	Task                string       `json:"task" bind:"enum=face|person_reid,default=face"`
	Views               []CameraView `json:"views" bind:"required,min=1,max=64"`
	EnrichDepth         bool         `json:"enrich_depth"`
	SimilarityThreshold float64      `json:"similarity_threshold" bind:"min=0,max=1,default=0.5"`
	// Calibrations are what is known of the cameras, instead of what was stored of them.
	Calibrations []CameraCalibration `json:"calibrations" bind:"max=64"`
}

// CameraCalibration is how a camera sees the floor of a scene.
type CameraCalibration struct {
	CameraID    string    `json:"camera_id" bind:"required,min=1"`
	Homography  []float64 `json:"homography" bind:"required,min=9,max=9"` // image in pixels to floor in metres, three rows
	Inliers     int64     `json:"inliers" bind:"required,min=0"`
	TotalPoints int64     `json:"total_points" bind:"required,min=0"`
}

// CameraView is what one camera sees.
type CameraView struct {
	CameraID    string `json:"camera_id" bind:"required,min=1"`
	ImageBase64 string `json:"image_base64" bind:"required,min=1"`
}

// TrackingRequest is the body of POST /api/v1/tracking/analyze.
type TrackingRequest struct {
	Frames []TrackingFrame `json:"frames" bind:"required,min=1,max=10000"`
}

// TrackingFrame is a frame, with the detections in it or the picture to find them in.
type TrackingFrame struct {
	T           float64             `json:"t" bind:"required"` // seconds
	ImageBase64 string              `json:"image_base64,omitempty"`
	Detections  []TrackingDetection `json:"detections,omitempty" bind:"max=1000"`
}

// TrackingDetection is something found in a frame.
type TrackingDetection struct {
	Bbox      []float64 `json:"bbox" bind:"required,min=4,max=4"`
	Score     float64   `json:"score" bind:"required,min=0,max=1"`
	Embedding []float64 `json:"embedding,omitempty" bind:"max=65536"`
}
