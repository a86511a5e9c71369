package counter

// Bounds of the public counters.
const (
	EventsMax       = 64     // different events that are counted, those of Known included
	NameBytesMax    = 64     // of an event
	ReadsPerMinute  = 600    // of a network
	ReadsBurst      = 120    // reads of a network at once
	WritesPerMinute = 120    // counted events and resets of a network
	WritesBurst     = 60     // of these, at once
	SubjectsMax     = 20_000 // networks or developers that a Pace remembers
)
