package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/recording"
	"modelgate.internal/dataplane/internal/route"
	"modelgate.internal/dataplane/internal/upstream"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/wire"
)

// VoiceCharacteristics answers POST /api/v1/voice/characteristics.
func (a *API) VoiceCharacteristics(c *call.Call) (call.Answer, error) {
	return a.voice(c, "/voice/characteristics")
}

// VoiceAnalyze answers POST /api/v1/voice/analyze.
func (a *API) VoiceAnalyze(c *call.Call) (call.Answer, error) { return a.voice(c, "/voice/analyze") }

func (a *API) voice(c *call.Call, path string) (call.Answer, error) {
	var req wire.VoiceRequest
	target, audio, err := a.voiceTarget(c, voiceAnalysis, &req)
	if err != nil {
		return call.Answer{}, err
	}
	fields := func() ([]byte, error) {
		language, err := languageOf(req.Language, "body", "language")
		if err != nil {
			return nil, err
		}
		return object(map[string]string{"format": cmp.Or(audio.Format(), req.Format), "language": cmp.Or(language, "auto")})
	}
	var found wire.VoiceCharacteristics
	err = a.serve(c, target, func(ctx context.Context, s *upstream.Service) (err error) {
		if s.Spec.Dialect != plane.DialectNative {
			return wrongDialect(s, plane.DialectNative)
		}
		found, err = s.VoiceCharacteristics(ctx, path, &upstream.Voice{Account: c.Caller.Account(), Audio: audio, Fields: fields})
		return err
	})
	if err != nil {
		return call.Answer{}, err
	}
	found.Backend = c.Facts.Backend
	return unmetered(found)
}

// voiceTarget finds the server of a task and opens the recording.
func (a *API) voiceTarget(c *call.Call, task string, req any) (route.Target, *recording.Recording, error) {
	target, err := route.ToTask(c.Config, c.Caller, darwin, task)
	note(c, target, taskLabel(target, task))
	if err != nil {
		return target, nil, err
	}
	_, noForm := req.(*wire.VoiceIDRequest)
	audio, err := recording.Open(c.Upload, recording.Options{
		Type: c.ContentType, Length: c.UploadLength, Max: VoiceBytesMax, NoForm: noForm, Fields: req,
	})
	return target, audio, err
}

// unmetered encodes an answer that no tokens are counted for.
func unmetered(v any) (call.Answer, error) {
	answer, err := encode(v)
	answer.Use = call.Usage{Source: plane.SourceNone}
	return answer, err
}

// VoiceID answers POST /api/v1/voice-id.
func (a *API) VoiceID(c *call.Call) (call.Answer, error) {
	var req wire.VoiceIDRequest
	target, audio, err := a.voiceTarget(c, voiceFootprint, &req)
	if err != nil {
		return call.Answer{}, err
	}
	voice := &upstream.Voice{
		Account: c.Caller.Account(), Audio: audio, Fields: func() ([]byte, error) { return speakerFields(req.Action, req.SpeakerLabel, "body") },
	}
	found, err := a.footprint(c, target, func() *upstream.Voice { return voice })
	if err != nil {
		return call.Answer{}, err
	}
	found.Action, found.Backend = req.Action, c.Facts.Backend
	return unmetered(found)
}

func (a *API) footprint(c *call.Call, target route.Target, voice func() *upstream.Voice) (found wire.VoiceFootprint, err error) {
	err = a.serve(c, target, func(ctx context.Context, s *upstream.Service) (err error) {
		if s.Spec.Dialect != plane.DialectNative {
			return wrongDialect(s, plane.DialectNative)
		}
		found, err = s.VoiceFootprint(ctx, voice())
		return err
	})
	return found, err
}

// speakerFields are the fields of a question about a speaker; at is where they are in the body.
func speakerFields(action, label string, at ...any) ([]byte, error) {
	fields := map[string]string{"action": action}
	switch {
	case label != "":
		fields["speaker_label"] = label
	case action == "register":
		return nil, apierr.Violations(apierr.Item{Type: "missing", Loc: append(at, "speaker_label"), Msg: "Field required"})
	}
	return object(fields)
}

func object(fields map[string]string) ([]byte, error) {
	text, err := json.Marshal(fields)
	if err != nil {
		return nil, fmt.Errorf("encode fields: %w", err)
	}
	return text, nil
}

// generateFootprint answers generate and stream for the task voice_footprint.
func (a *API) generateFootprint(c *call.Call, target route.Target, req *wire.GenerateRequest, stream bool) (call.Answer, error) {
	o, audio, err := audioOf(req)
	if err != nil {
		return call.Answer{}, err
	}
	fields, err := speakerFields(o.Action, o.SpeakerLabel, "body", "kwargs")
	if err != nil {
		return call.Answer{}, err
	}
	voice := func() *upstream.Voice {
		return &upstream.Voice{
			Account: c.Caller.Account(), Audio: bytes.NewReader(audio), Fields: func() ([]byte, error) { return fields, nil },
		}
	}
	label := func(f *wire.VoiceFootprint) { f.Action, f.Backend = o.Action, c.Facts.Backend }
	if stream {
		return a.serveStream(c, target, func(ctx context.Context, s *upstream.Service) (call.Stream, error) {
			return s.VoiceFootprintEvents(ctx, voice(), label)
		})
	}
	found, err := a.footprint(c, target, voice)
	if err != nil {
		return call.Answer{}, err
	}
	label(&found)
	return unmetered(found)
}
