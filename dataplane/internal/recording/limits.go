package recording

const (
	fieldsBytesMax = 64 << 10 // of everything in a body but the audio
	partsMax       = 32       // of a form
	inputBytes     = 8 << 10  // read buffer of a JSON body
	textBytes      = 4 << 10  // of base64 that is decoded at once; a multiple of 4
	firstBytes     = 16       // of the audio, which tell its format
)
