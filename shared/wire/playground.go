package wire

// CalibrateRequest is the body of POST /dev/playground/multicam-calibrate. A point is x and y.
type CalibrateRequest struct {
	SessionID string      `json:"session_id" bind:"required,min=1,max=128"`
	CameraID  string      `json:"camera_id" bind:"required,min=1,max=128"`
	SrcPoints [][]float64 `json:"src_points" bind:"required,min=4,max=1000"` // in the image, pixels
	DstPoints [][]float64 `json:"dst_points" bind:"required,min=4,max=1000"` // on the floor, metres
}

// CalibrateResult answers POST /dev/playground/multicam-calibrate.
type CalibrateResult struct {
	Status      string `json:"status"` // always "calibrated"
	CameraID    string `json:"camera_id"`
	Inliers     int64  `json:"inliers"`
	TotalPoints int64  `json:"total_points"`

	Receipt *Receipt `json:"receipt,omitempty"` // which nodes know the calibration; nil with wait=none
}
