package usage

const (
	// RecordBytesMax bounds one record with its frame: eleven texts and seven numbers.
	RecordBytesMax = 4 << 10
	// TextBytesMax bounds one text of a record; longer ones are cut.
	TextBytesMax = 255
	// FrameBytes is what stands before the payload of a record.
	FrameBytes = 16
	// Alignment is what records begin at multiples of.
	Alignment = 8
	// PrologueBytes is what stands before the statement and the records of an upload.
	PrologueBytes = 48
	// IncarnationBytesMax bounds the name of an incarnation in a prologue.
	IncarnationBytesMax = 24

	readBytes = 64 << 10 // buffer of a Reader
)
