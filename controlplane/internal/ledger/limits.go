package ledger

// Bounds of a question.
const (
	DaysMax     = 400 // days of one answer; with UTC days as buckets this is also the number of points
	HourlyDays  = 3   // up to this many days the buckets are hours
	PointsMax   = 400 // points of one series
	hoursPerDay = 24
	_           = uint(PointsMax - DaysMax)                // stops compiling when days could be too many points
	_           = uint(PointsMax - HourlyDays*hoursPerDay) // and hours
)
