package homography

// Bounds of a fit.
const (
	PointsMin  = 4
	PointsMax  = 1000
	ToleranceM = 0.1 // metres on the floor within which a point is an inlier

	roundsMax    = 2000 // of RANSAC
	roundsSeed   = 20260105
	sureness     = 0.9999 // that one sample had no outlier, which ends the rounds early
	flatness     = 1e-4   // of a triangle of normalised points, below which its corners count as collinear
	conditionMin = 1e-9   // of the second smallest to the largest eigenvalue; below it the points define no one map
)
