package upstream

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/sse"
)

// The dialect transcriptions is OpenAI's POST audio/transcriptions (platform.openai.com/docs/api-reference/audio), as servers for
// Whisper speak it, too: a form with file, model, language and response_format.

// Recording is what is to be transcribed.
type Recording struct {
	Audio  io.Reader // read once; its errors must be *apierr.Error
	Format string    // ending of a file name that tells the format; "" when it is not known
	// Language returns the code of the language that is spoken, "" when the server is to find it. It is called when Audio has ended,
	// and an error of it ends the call like one of Audio.
	Language func() (string, error)
}

// Transcript is what was said.
type Transcript struct {
	Text     string
	Language string   // code; "" when the server does not tell
	Seconds  *float64 // of the recording; nil when the server does not tell
	Segments []Segment
	Use      call.Usage
}

// Segment is a part of a transcript; Start and End are seconds.
type Segment struct {
	Start, End float64
	Text       string
}

// Transcribe has a recording transcribed while it arrives. Errors are those of [Service.Upload].
func (s *Service) Transcribe(ctx context.Context, r *Recording) (Transcript, error) {
	reply, err := s.Upload(ctx, s.transcription(r))
	if s.learns(err) {
		detail := "Upstream " + s.id + " gives no segments, which this node has just learned. Send the recording again."
		return Transcript{}, &UploadError{Err: apierr.New(apierr.Unavailable, detail).After(time.Second).Because(err)}
	}
	if err != nil {
		return Transcript{}, err
	}
	t, wrong := s.transcript(reply.Body)
	if wrong != nil {
		return Transcript{}, &UploadError{Err: wrong.classed()}
	}
	return t, nil
}

// TranscribeWhole has a recording transcribed that is there, so that it can be sent again. The errors are those of [Service.Do].
func (s *Service) TranscribeWhole(ctx context.Context, audio []byte, format, language string) (Transcript, error) {
	again := s.segments()
	t, err := s.Transcribe(ctx, recordingOf(audio, format, language))
	if err != nil && again && !s.segments() {
		t, err = s.Transcribe(ctx, recordingOf(audio, format, language))
	}
	if u, ok := errors.AsType[*UploadError](err); ok {
		err = u.Err
	}
	return t, err
}

// TranscribeEvents is TranscribeWhole for a stream: one delta for each segment, or one for all the text.
func (s *Service) TranscribeEvents(ctx context.Context, audio []byte, format, language string) (call.Stream, error) {
	stream, err := s.transcribeEvents(ctx, recordingOf(audio, format, language))
	if s.learns(err) {
		stream, err = s.transcribeEvents(ctx, recordingOf(audio, format, language))
	}
	return stream, err
}

func (s *Service) transcribeEvents(ctx context.Context, r *Recording) (call.Stream, error) {
	return s.OpenWhole(ctx, s.transcription(r), func(body []byte) (Events, call.Usage, error) {
		t, wrong := s.transcript(body)
		if wrong != nil {
			return nil, call.Usage{}, wrong
		}
		var deltas [][]byte
		for _, piece := range t.Pieces() {
			text, err := json.Marshal(piece)
			if err != nil {
				return nil, call.Usage{}, fmt.Errorf("encode segment: %w", err)
			}
			deltas = append(deltas, text[1:len(text)-1])
		}
		return func(w *sse.Writer) {
			for _, text := range deltas {
				w.DeltaRaw(text)
			}
		}, t.Use, nil
	})
}

func recordingOf(audio []byte, format, language string) *Recording {
	return &Recording{Audio: bytes.NewReader(audio), Format: format, Language: func() (string, error) { return language, nil }}
}

// transcription is the request for a recording.
func (s *Service) transcription(r *Recording) *Upload {
	boundary := rand.Text()
	front, back := s.transcriptionForm(r, boundary)
	return &Upload{
		Path: "/audio/transcriptions", Type: "multipart/form-data; boundary=" + boundary, Accept: "application/json",
		Body: io.MultiReader(strings.NewReader(front), r.Audio, back),
	}
}

// transcriptionForm returns what stands before the audio and behind it.
func (s *Service) transcriptionForm(r *Recording, boundary string) (front string, back io.Reader) {
	var b strings.Builder
	field := func(name, value string) {
		b.WriteString("--" + boundary + "\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n" + value + "\r\n")
	}
	if s.Spec.Model != "" {
		field("model", s.Spec.Model)
	}
	if s.segments() {
		field("response_format", "verbose_json")
	} else {
		field("response_format", "json")
	}
	name := "audio"
	if r.Format != "" {
		name += "." + r.Format
	}
	b.WriteString("--" + boundary + "\r\nContent-Disposition: form-data; name=\"file\"; filename=\"" + name + "\"\r\n" +
		"Content-Type: application/octet-stream\r\n\r\n")
	front = b.String()
	return front, &later{text: func() (string, error) {
		language, err := r.Language()
		if err != nil {
			return "", err
		}
		b.Reset()
		b.WriteString("\r\n")
		if language != "" {
			field("language", language)
		}
		return b.String() + "--" + boundary + "--\r\n", nil
	}}
}

// segments reports whether the server is to be asked for segments. OpenAI's models of the name gpt-… refuse to give them, and the
// first refusal of another one is remembered.
func (s *Service) segments() bool {
	return !s.unverbose.Load() && !strings.HasPrefix(s.Spec.Model, "gpt-")
}

// learns reports whether an error is a server's first refusal to give segments.
func (s *Service) learns(err error) bool {
	e := apierr.From(err)
	if e == nil || e.Kind != apierr.BadRequest || !strings.Contains(e.Detail, "response_format") && !strings.Contains(e.Detail, "verbose_json") {
		return false
	}
	return !s.unverbose.Swap(true)
}

// transcript reads an answer in the form json or verbose_json.
func (s *Service) transcript(body []byte) (Transcript, *fault) {
	var said struct {
		Text     *string  `json:"text"`
		Language string   `json:"language"`
		Duration *float64 `json:"duration"`
		Segments []struct {
			Start *float64 `json:"start"`
			End   *float64 `json:"end"`
			Text  *string  `json:"text"`
		} `json:"segments"`
		Usage struct {
			Type         string `json:"type"`
			InputTokens  int64  `json:"input_tokens"`
			OutputTokens int64  `json:"output_tokens"`
		} `json:"usage"`
	}
	if !utf8.Valid(body) || json.Unmarshal(body, &said) != nil {
		return Transcript{}, s.wrong("is not a transcript")
	}
	if said.Text == nil {
		return Transcript{}, s.wrong("has no text")
	}
	if said.Duration != nil && *said.Duration < 0 {
		return Transcript{}, s.wrong("has a negative duration")
	}
	t := Transcript{
		Text: *said.Text, Language: languageCode(said.Language), Seconds: said.Duration,
		Use: call.Usage{TokensOut: estimate(len(*said.Text)), Source: plane.SourceEstimated},
	}
	if said.Usage.Type == "tokens" && said.Usage.InputTokens >= 0 && said.Usage.OutputTokens >= 0 {
		t.Use = call.Usage{TokensIn: said.Usage.InputTokens, TokensOut: said.Usage.OutputTokens, Source: plane.SourceProvider}
	}
	for _, part := range said.Segments {
		if part.Start == nil || part.End == nil || part.Text == nil || *part.Start < 0 || *part.End < *part.Start {
			return Transcript{}, s.wrong("has a segment without text, or with times that run backwards")
		}
		t.Segments = append(t.Segments, Segment{*part.Start, *part.End, *part.Text})
	}
	return t, nil
}

// Pieces divides the text by its segments, so that the pieces together are the text. Where it cannot be found in them, the
// pieces are those of the segments.
func (t *Transcript) Pieces() []string {
	var pieces []string
	rest := t.Text
	for i, segment := range t.Segments {
		wanted := strings.TrimSpace(segment.Text)
		at := strings.Index(rest, wanted)
		if at < 0 || strings.TrimSpace(rest[:at]) != "" {
			return t.asGiven()
		}
		end := at + len(wanted)
		if i == len(t.Segments)-1 {
			if strings.TrimSpace(rest[end:]) != "" {
				return t.asGiven()
			}
			end = len(rest)
		}
		pieces, rest = append(pieces, rest[:end]), rest[end:]
	}
	if len(t.Segments) == 0 && rest != "" {
		return []string{rest}
	}
	return pieces
}

func (t *Transcript) asGiven() []string {
	pieces := make([]string, 0, len(t.Segments))
	for _, segment := range t.Segments {
		pieces = append(pieces, segment.Text)
	}
	return pieces
}

// later is text that is known when it is first read.
type later struct {
	text func() (string, error)
	from *strings.Reader
}

func (l *later) Read(p []byte) (int, error) {
	if l.from == nil {
		text, err := l.text()
		if err != nil {
			return 0, err
		}
		l.from = strings.NewReader(text)
	}
	return l.from.Read(p) //nolint:wrapcheck // io.EOF must stay what it is
}
