package api

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/pool"
	"modelgate.internal/dataplane/internal/recording"
	"modelgate.internal/dataplane/internal/route"
	"modelgate.internal/dataplane/internal/upstream"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/bind"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/wire"
)

const (
	speechToText   = "speech_to_text"
	textToSpeech   = "text_to_speech"
	voiceFootprint = "voice_footprint"
	voiceAnalysis  = "voice_analysis"
)

// Transcribe answers POST /api/v1/transcribe. The recording goes to the upstream while it arrives.
func (a *API) Transcribe(c *call.Call) (call.Answer, error) {
	target, err := route.ToTask(c.Config, c.Caller, darwin, speechToText)
	note(c, target, taskLabel(target, speechToText))
	if err != nil {
		return call.Answer{}, withStatus(err)
	}
	var req wire.TranscribeRequest
	audio, err := recording.Open(c.Upload, recording.Options{Type: c.ContentType, Length: c.UploadLength, Max: AudioBytesMax, Fields: &req})
	if err != nil {
		return call.Answer{}, err
	}
	var t upstream.Transcript
	err = a.serve(c, target, func(ctx context.Context, s *upstream.Service) (err error) {
		if s.Spec.Dialect != plane.DialectTranscriptions {
			return wrongDialect(s, plane.DialectTranscriptions)
		}
		t, err = s.Transcribe(ctx, &upstream.Recording{
			Audio: audio, Format: audio.Format(), Language: func() (string, error) { return languageOf(req.Language, "body", "language") },
		})
		return err
	})
	if err != nil {
		return call.Answer{}, withStatus(err)
	}
	return transcript(c, &t, req.Language)
}

// withStatus has a 503 say where the state of speech to text is shown.
func withStatus(err error) error {
	e := apierr.From(err)
	if e.Kind != apierr.Unavailable {
		return err
	}
	told := apierr.New(e.Kind, e.Detail+" GET /api/v1/stt-status tells the state of speech to text.")
	return told.After(e.RetryAfter).Because(err)
}

func transcript(c *call.Call, t *upstream.Transcript, wanted string) (call.Answer, error) {
	answer := wire.Transcript{
		Text: t.Text, DurationSeconds: t.Seconds, Segments: make([]wire.TranscriptSegment, 0, len(t.Segments)), Backend: c.Facts.Backend,
	}
	for _, s := range t.Segments {
		answer.Segments = append(answer.Segments, wire.TranscriptSegment(s))
	}
	if language := t.Language; language != "" {
		answer.Language = &language
	} else if given, err := languageOf(wanted); err == nil && given != "" {
		answer.Language = &given
	}
	out, err := encode(answer)
	out.Use = t.Use
	return out, err
}

// languageOf returns the first part of a language tag (RFC 5646) in lower case, which is all that servers know, "" for "auto",
// or a violation for the value at the given place.
func languageOf(tag string, at ...any) (string, error) {
	first, _, _ := strings.Cut(strings.ToLower(tag), "-")
	switch odd := func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' }; {
	case first == "" && tag == "", first == "auto":
		return "", nil
	case strings.ContainsFunc(strings.ToLower(tag), odd), len(first) < 2:
		const what = "send a language code such as sw or en, or auto"
		return "", apierr.Violations(apierr.Item{
			Type: "value_error", Loc: at, Msg: "Value error, " + what, Input: tag, Ctx: map[string]any{"error": what},
		})
	}
	return first, nil
}

// wrongDialect is for an upstream that is configured for a task and cannot be asked for it.
func wrongDialect(s *upstream.Service, wanted string) error {
	return pool.Unusable(apierr.New(apierr.Unavailable, fmt.Sprintf(
		"Upstream %s is configured with the dialect %s, and this operation needs %s. This is for the gateway's operator to fix.",
		s.Spec.ID, s.Spec.Dialect, wanted)))
}

// audioOptions are the kwargs of the tasks that are given audio.
type audioOptions struct {
	AudioBase64  string `json:"audio_base64" bind:"required,min=1"`
	Language     string `json:"language" bind:"max=35,default=auto"`
	Filename     string `json:"filename" bind:"max=255"`
	Action       string `json:"action" bind:"enum=extract|register|identify,default=extract"`
	SpeakerLabel string `json:"speaker_label" bind:"max=256"`
}

// audioOf reads the kwargs and the audio in them.
func audioOf(req *wire.GenerateRequest) (o audioOptions, audio []byte, err error) {
	if err := bind.Value(req.Kwargs, []any{"body", "kwargs"}, &o); err != nil {
		return o, nil, err
	}
	audio, err = base64.StdEncoding.DecodeString(o.AudioBase64)
	if err != nil || len(audio) == 0 {
		const what = "send the audio as base64 of the standard alphabet, without a data: prefix"
		return o, nil, apierr.Violations(apierr.Item{
			Type: "value_error", Loc: []any{"body", "kwargs", "audio_base64"}, Msg: "Value error, " + what,
			Input: o.AudioBase64[:min(len(o.AudioBase64), 40)], Ctx: map[string]any{"error": what},
		})
	}
	return o, audio, nil
}

// generateTranscript answers generate and stream for the task speech_to_text.
func (a *API) generateTranscript(c *call.Call, target route.Target, req *wire.GenerateRequest, stream bool) (call.Answer, error) {
	o, audio, err := audioOf(req)
	if err != nil {
		return call.Answer{}, err
	}
	language, err := languageOf(o.Language, "body", "kwargs", "language")
	if err != nil {
		return call.Answer{}, err
	}
	format := recording.FormatOf(audio, o.Filename)
	if stream {
		return a.serveStream(c, target, func(ctx context.Context, s *upstream.Service) (call.Stream, error) {
			return s.TranscribeEvents(ctx, audio, format, language)
		})
	}
	var t upstream.Transcript
	err = a.serve(c, target, func(ctx context.Context, s *upstream.Service) (err error) {
		t, err = s.TranscribeWhole(ctx, audio, format, language)
		return err
	})
	if err != nil {
		return call.Answer{}, err
	}
	return transcript(c, &t, o.Language)
}

// SttStatus answers GET /api/v1/stt-status: how transcribe would fare now, on this node.
func (a *API) SttStatus(c *call.Call) (call.Answer, error) {
	target, err := route.ToTask(c.Config, c.Caller, darwin, speechToText)
	status := wire.SttStatus{Backend: route.Backend(c.Config, target.Model), Languages: []string{}, Upstreams: []wire.SttUpstream{}}
	if err != nil {
		e := apierr.From(err)
		if e.Kind != apierr.Unavailable {
			return call.Answer{}, err
		}
		status.Detail = &e.Detail
		return encode(status)
	}
	for _, m := range a.o.Members(target.Model.Upstream, from(c)) {
		one := wire.SttUpstream{ID: m.Upstream, State: string(m.State), InFlight: m.InFlight}
		if fault := string(m.Fault); fault != "" {
			one.LastFailure = &fault
		}
		if back := m.Back.Seconds(); m.State == pool.StateOpen || m.State == pool.StateResting {
			one.RetryAfterSeconds = &back
		}
		status.Upstreams = append(status.Upstreams, one)
		status.Available = status.Available || slices.Contains([]pool.State{pool.StateUp, pool.StateProbing}, m.State)
	}
	if !status.Available {
		detail := "None of the servers takes calls at the moment; upstreams says why and until when."
		status.Detail = &detail
	}
	return encode(status)
}

// audioTask returns what answers generate and stream for a task of audio, or nil for other tasks.
func (a *API) audioTask(target route.Target, task string) func(*call.Call, route.Target, *wire.GenerateRequest, bool) (call.Answer, error) {
	switch dialect := target.Upstream.Dialect; {
	case dialect == plane.DialectTranscriptions:
		return a.generateTranscript
	case dialect == plane.DialectSpeech:
		return a.generateSpeech
	case dialect == plane.DialectNative && target.Model.Family == darwin && task == voiceFootprint:
		return a.generateFootprint
	}
	return nil
}
