package upstream

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/sse"
	"modelgate.internal/shared/wire"
)

// Voices are analysed by services of the dialect native. They are sent our JSON, with the audio encoded while it arrives.

// Voice is a recording of a voice.
type Voice struct {
	Account string    // whose call it is, sent as X-Account-Id; "" sends none
	Audio   io.Reader // read once; its errors must be *apierr.Error
	// Fields returns the JSON object of the fields beside the audio, not empty. It is called when Audio has ended, and an error of
	// it ends the call like one of Audio.
	Fields func() ([]byte, error)
}

// VoiceCharacteristics asks at voice/characteristics or voice/analyze, which path says. The answer has no Backend. Errors are those
// of [Service.Upload].
func (s *Service) VoiceCharacteristics(ctx context.Context, path string, v *Voice) (wire.VoiceCharacteristics, error) {
	body, err := s.voice(ctx, path, v)
	if err != nil {
		return wire.VoiceCharacteristics{}, err
	}
	c, wrong := voiceCharacteristics(body)
	if wrong != "" {
		return c, &UploadError{Err: s.Invalid(wrong)}
	}
	return c, nil
}

// VoiceFootprint asks at voice-id. The answer has neither Backend nor Action. Errors are those of [Service.Upload].
func (s *Service) VoiceFootprint(ctx context.Context, v *Voice) (wire.VoiceFootprint, error) {
	body, err := s.voice(ctx, voiceIDPath, v)
	if err != nil {
		return wire.VoiceFootprint{}, err
	}
	f, wrong := voiceFootprint(body)
	if wrong != "" {
		return f, &UploadError{Err: s.Invalid(wrong)}
	}
	return f, nil
}

// VoiceFootprintEvents is VoiceFootprint for a stream: the footprint, once label has completed it, is the one event. The audio must be
// there.
func (s *Service) VoiceFootprintEvents(ctx context.Context, v *Voice, label func(*wire.VoiceFootprint)) (call.Stream, error) {
	return s.OpenWhole(ctx, voiceRequest(voiceIDPath, v), func(body []byte) (Events, call.Usage, error) {
		f, wrong := voiceFootprint(body)
		if wrong != "" {
			return nil, call.Usage{}, s.wrong(wrong)
		}
		label(&f)
		event, err := json.Marshal(f)
		if err != nil {
			return nil, call.Usage{}, fmt.Errorf("encode footprint: %w", err)
		}
		return func(w *sse.Writer) { w.Data(event) }, call.Usage{Source: plane.SourceNone}, nil
	})
}

const voiceIDPath = "/voice-id"

func (s *Service) voice(ctx context.Context, path string, v *Voice) ([]byte, error) {
	reply, err := s.Upload(ctx, voiceRequest(path, v))
	return reply.Body, err
}

func voiceRequest(path string, v *Voice) *Upload {
	tail := &later{text: func() (string, error) {
		fields, err := v.Fields()
		if err != nil {
			return "", err
		}
		return `",` + string(fields[1:]), nil
	}}
	return &Upload{
		Path: path, Type: "application/json", Accept: "application/json", Account: v.Account,
		Body: io.MultiReader(strings.NewReader(`{"audio_base64":"`), &encoder{from: v.Audio}, tail),
	}
}

// given is a property of an answer that is told apart from one that is null or missing.
type given[T any] struct {
	value *T
	there bool
}

// UnmarshalJSON implements json.Unmarshaler.
func (g *given[T]) UnmarshalJSON(b []byte) error {
	g.there = true
	return json.Unmarshal(b, &g.value)
}

type number = given[float64]

// numbers reports whether all are numbers.
func numbers(all ...number) bool {
	return !slices.ContainsFunc(all, func(n number) bool { return n.value == nil })
}

// nullable reports whether all are there, as numbers or null.
func nullable(all ...number) bool {
	return !slices.ContainsFunc(all, func(n number) bool { return !n.there })
}

// voiceCharacteristics reads an answer, or says what is wrong with it.
func voiceCharacteristics(body []byte) (c wire.VoiceCharacteristics, wrong string) {
	var said struct {
		F0 struct {
			Mean   number `json:"mean_hz"`
			Median number `json:"median_hz"`
			Min    number `json:"min_hz"`
			Max    number `json:"max_hz"`
			Std    number `json:"std_hz"`
		} `json:"f0"`
		Gender struct {
			Estimate   string `json:"estimate"`
			Confidence number `json:"confidence"`
		} `json:"gender"`
		Register string `json:"register"`
		Rate     number `json:"speaking_rate"`
		Voiced   number `json:"voiced_ratio"`
		Energy   struct {
			Mean     number `json:"mean_db"`
			Max      number `json:"max_db"`
			Loudness number `json:"loudness_lufs"`
		} `json:"energy"`
		Duration number `json:"duration_seconds"`
	}
	if !utf8.Valid(body) || json.Unmarshal(body, &said) != nil {
		return c, "has no voice characteristics"
	}
	f0, energy := &said.F0, &said.Energy
	pitch := []number{f0.Mean, f0.Median, f0.Min, f0.Max, f0.Std}
	silent := nullable(pitch...) && !slices.ContainsFunc(pitch, func(n number) bool { return n.value != nil })
	switch {
	case !silent && !numbers(pitch...), numbers(pitch...) && (*f0.Min.value <= 0 || *f0.Max.value < *f0.Min.value || *f0.Std.value < 0):
		return c, "has no statistics of the fundamental frequency"
	case !slices.Contains([]string{"male", "female", "neutral"}, said.Gender.Estimate) || !share(said.Gender.Confidence):
		return c, "has no gender estimate with a confidence"
	case !slices.Contains([]string{"grave", "medium", "aigu"}, said.Register):
		return c, "has no voice register of grave, medium or aigu"
	case !nullable(said.Rate) || said.Rate.value != nil && *said.Rate.value < 0:
		return c, "has no speaking rate"
	case !share(said.Voiced):
		return c, "has no voiced ratio"
	case !numbers(energy.Mean, energy.Max) || !nullable(energy.Loudness):
		return c, "has no statistics of energy and loudness"
	case !numbers(said.Duration) || *said.Duration.value < 0:
		return c, "has no duration"
	}
	return wire.VoiceCharacteristics{
		F0: wire.PitchStatistics{
			MeanHz: f0.Mean.value, MedianHz: f0.Median.value, MinHz: f0.Min.value, MaxHz: f0.Max.value, StdHz: f0.Std.value,
		},
		Gender:   wire.GenderEstimate{Estimate: said.Gender.Estimate, Confidence: *said.Gender.Confidence.value},
		Register: said.Register, SpeakingRate: said.Rate.value, VoicedRatio: *said.Voiced.value,
		Energy:          wire.EnergyStatistics{MeanDB: *energy.Mean.value, MaxDB: *energy.Max.value, LoudnessLUFS: energy.Loudness.value},
		DurationSeconds: *said.Duration.value,
	}, ""
}

// share reports whether n is a number from 0 to 1.
func share(n number) bool { return n.value != nil && *n.value >= 0 && *n.value <= 1 }

// voiceFootprint reads an answer, or says what is wrong with it. Numbers that are all zero have no direction and cannot be compared.
func voiceFootprint(body []byte) (f wire.VoiceFootprint, wrong string) {
	var said struct {
		Embedding []float64 `json:"embedding"`
		Dim       number    `json:"embedding_dim"`
		Speaker   *string   `json:"speaker_label"`
		Score     number    `json:"score"`
	}
	switch {
	case !utf8.Valid(body) || json.Unmarshal(body, &said) != nil:
		return f, "has no voice footprint"
	case len(said.Embedding) == 0 || !slices.ContainsFunc(said.Embedding, func(x float64) bool { return x != 0 }):
		return f, "has no embedding"
	case said.Dim.value == nil || *said.Dim.value != float64(len(said.Embedding)):
		return f, "has an embedding of another length than its embedding_dim"
	}
	if said.Speaker != nil && *said.Speaker == "" {
		said.Speaker = nil
	}
	return wire.VoiceFootprint{
		Type: "voice_footprint", Embedding: said.Embedding, EmbeddingDim: len(said.Embedding), SpeakerLabel: said.Speaker, Score: said.Score.value,
	}, ""
}

// encoder encodes what it reads as base64.
type encoder struct {
	from io.Reader
	raw  [encodeBytes]byte
	text [encodeBytes / 3 * 4]byte
	out  []byte
	err  error
}

func (e *encoder) Read(p []byte) (int, error) {
	for len(e.out) == 0 {
		if e.err != nil {
			return 0, e.err
		}
		n := 0
		for n < len(e.raw) && e.err == nil {
			var m int
			m, e.err = e.from.Read(e.raw[n:])
			n += m
		}
		if ended := e.err == io.EOF; e.err != nil && !ended { //nolint:errorlint // an error that wraps it is none
			return 0, e.err
		}
		base64.StdEncoding.Encode(e.text[:], e.raw[:n])
		e.out = e.text[:base64.StdEncoding.EncodedLen(n)]
	}
	n := copy(p, e.out)
	e.out = e.out[n:]
	return n, nil
}
