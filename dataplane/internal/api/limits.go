package api

import "time"

// The bounds of a recording in bytes, to transcribe and to analyse.
const (
	AudioBytesMax = 100 << 20
	VoiceBytesMax = 25 << 20
)

// galleryNameMax is the length of a gallery's name in bytes.
const galleryNameMax = 128

const (
	speechCharsMax = 10_000 // of a text to speak

	tokensSpare = 256 // of a translation by a chat model, beyond one for each byte of the text

	speakersMax     = 16 // translation servers whose languages are remembered
	languagesFresh  = 10 * time.Minute
	languagesAgeMax = time.Hour // of the languages of a server that does not answer
)
