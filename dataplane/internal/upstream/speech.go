package upstream

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"modelgate.internal/dataplane/internal/upstream/transport"
)

// The dialect speech is OpenAI's POST audio/speech (platform.openai.com/docs/api-reference/audio).

// Spoken is what a server said about the audio that [Service.Speak] appended.
type Spoken struct {
	Format  string   // "mp3" or "wav"
	Seconds *float64 // nil for MP3
}

// Speak has text spoken and appends the audio to dst as base64. The errors are those of [Service.Do]; dst is then as it was.
func (s *Service) Speak(ctx context.Context, text string, dst []byte) ([]byte, Spoken, error) {
	body, err := json.Marshal(map[string]string{
		"model": s.Spec.Model, "input": text, "voice": cmp.Or(s.Spec.Voice, voiceDefault), "response_format": "mp3",
	})
	if err != nil {
		return dst, Spoken{}, fmt.Errorf("encode request: %w", err)
	}
	began := s.begin()
	a := audio{out: dst}
	if err := s.speak(ctx, body, &a); err != nil {
		f := s.broken(ctx, err)
		s.end(began, f.result)
		return dst, Spoken{}, f.classed()
	}
	s.end(began, ResultDone)
	return a.out, Spoken{a.format(), a.seconds()}, nil
}

func (s *Service) speak(ctx context.Context, body []byte, a *audio) error {
	limit := min(s.timeouts.Answer, s.timeouts.Total)
	request := s.request(&Exchange{Path: "/audio/speech", Body: body})
	conn, err := s.host.Exchange(ctx, request, transport.Times{Connect: s.timeouts.Connect, Head: limit})
	if err != nil {
		return s.lateWhole(err, limit)
	}
	defer conn.Finish()
	if conn.Head.Status != 200 {
		return s.refusal(conn)
	}
	if f := s.unreadable(conn, ""); f != nil {
		return f
	}
	if n := conn.Head.Length; n > 0 && n <= speechBytesMax {
		a.out = append(make([]byte, 0, len(a.out)+base64.StdEncoding.EncodedLen(int(n))+speechFieldsBytes), a.out...)
	}
	for {
		got, err := conn.Next()
		if err != nil && !errors.Is(err, io.EOF) {
			return s.lateWhole(err, limit)
		}
		conn.Keep(a.take(got, err != nil))
		if a.bytes > speechBytesMax {
			f := s.bad(ResultInvalid, "sent audio over %d MiB. Send a shorter text.", speechBytesMax>>20)
			f.provoked = true
			return f
		}
		if len(a.head) == audioHeadBytes && a.format() == "" || err != nil && a.format() == "" {
			return s.bad(ResultInvalid, "sent something that is neither MP3 nor WAV. This is for the gateway's operator to fix.")
		}
		if err != nil {
			return nil
		}
	}
}

// audio is encoded while it arrives.
type audio struct {
	out   []byte
	head  []byte // the first bytes
	bytes int
}

// take encodes what makes whole groups of three bytes, at the end everything, and returns how many bytes are left.
func (a *audio) take(got []byte, last bool) (left int) {
	if !last {
		left = len(got) % 3
	}
	got = got[:len(got)-left]
	a.head = append(a.head, got[:min(len(got), audioHeadBytes-len(a.head))]...)
	a.out = base64.StdEncoding.AppendEncode(a.out, got)
	a.bytes += len(got)
	return left
}

// format is told by the first bytes: RIFF of WAV, an ID3 tag, or the sync word of an MPEG frame of layer III.
func (a *audio) format() string {
	b := a.head
	switch {
	case len(b) >= 12 && string(b[:4]) == "RIFF" && string(b[8:12]) == "WAVE":
		return "wav"
	case bytes.HasPrefix(b, []byte("ID3")), len(b) >= 4 && b[0] == 0xff && b[1]&0xe6 == 0xe2 && b[2]&0xf0 != 0xf0 && b[2]&0x0c != 0x0c:
		return "mp3"
	}
	return ""
}

// seconds is the length of a plain WAV file, by the rate in its head: servers that stream do not know its length when they write
// the head.
func (a *audio) seconds() *float64 {
	b := a.head
	if a.format() != "wav" || len(b) < audioHeadBytes || string(b[12:16]) != "fmt " {
		return nil
	}
	rate := binary.LittleEndian.Uint32(b[28:]) // bytes a second
	if rate == 0 || string(b[36:40]) != "data" {
		return nil
	}
	seconds := float64(a.bytes-audioHeadBytes) / float64(rate)
	return &seconds
}
