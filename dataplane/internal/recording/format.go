package recording

import (
	"bytes"
	"path"
	"strings"
)

// FormatOf is [Recording.Format] for audio that is there.
func FormatOf(audio []byte, filename string) string {
	if format := formatOf(audio[:min(len(audio), firstBytes)]); format != "" {
		return format
	}
	return ending(filename)
}

// formatOf tells the format of audio by its first bytes. Sources: RFC 2361 (RIFF), ISO 11172-3 and id3.org (MP3), RFC 9639
// (FLAC), RFC 3533 (Ogg), RFC 9559 (Matroska, of which WebM is a part), ISO 14496-12 (MP4).
func formatOf(b []byte) string {
	switch {
	case bytes.HasPrefix(b, []byte("RIFF")) && len(b) >= 12 && string(b[8:12]) == "WAVE":
		return "wav"
	case bytes.HasPrefix(b, []byte("ID3")), len(b) >= 2 && b[0] == 0xff && b[1]&0xe6 == 0xe2: // layer III of MPEG 1, 2 or 2.5
		return "mp3"
	case bytes.HasPrefix(b, []byte("fLaC")):
		return "flac"
	case bytes.HasPrefix(b, []byte("OggS")):
		return "ogg"
	case bytes.HasPrefix(b, []byte("\x1aE\xdf\xa3")):
		return "webm"
	case len(b) >= 8 && string(b[4:8]) == "ftyp":
		return "m4a"
	}
	return ""
}

// ending returns the ending of a file name without its dot, in lower case, or "" unless it is one to four letters and digits.
func ending(name string) string {
	e := strings.ToLower(strings.TrimPrefix(path.Ext(name), "."))
	if len(e) > 4 || strings.ContainsFunc(e, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }) {
		return ""
	}
	return e
}
