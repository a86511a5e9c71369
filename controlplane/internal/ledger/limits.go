package ledger

import "time"

// Bounds of a question.
const (
	DaysMax       = 400 // days of one answer; as buckets they are also the number of points
	HourlyDays    = 3   // up to this many days the buckets are hours unless others are asked for
	HourDaysMax   = 90  // days of hours, which are put together in twos to twelves to make at most PointsMax points
	MinuteDaysMax = 3   // days of minutes, which are not kept for longer
	PointsMax     = 400 // points of one series
	GroupsMax     = 500 // entries of one list; what is beyond is put together in one
	ZoneBytesMax  = 64
	MinuteRowsMax = 100 // keys, and apps, that are told of with what they used in a minute

	cursorMicrosMax = 1 << 53 // of a call's time: in the year 2255

	_ = uint(PointsMax - DaysMax) // stops compiling when days could be too many points
)

// Bounds of the closing job.
const (
	closeEvery    = time.Minute
	closeLeaseFor = 5 * time.Minute // a replica that dies while it closes is replaced after this
	closeLateDays = 2               // days before today that are proven in every round, as records still arrive for them
	closeAllEvery = 24 * time.Hour  // how often all days are proven that records can arrive for
)
