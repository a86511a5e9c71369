package api

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/route"
	"modelgate.internal/dataplane/internal/upstream"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/bind"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/sse"
	"modelgate.internal/shared/wire"
)

// Synthesize answers POST /api/v1/synthesize.
func (a *API) Synthesize(c *call.Call) (call.Answer, error) {
	var req wire.SynthesizeRequest
	if err := bind.JSON(c.Body, &req); err != nil {
		return call.Answer{}, err
	}
	if _, err := languageOf(req.Language, "body", "language"); err != nil {
		return call.Answer{}, err
	}
	target, err := route.ToTask(c.Config, c.Caller, darwin, textToSpeech)
	note(c, target, taskLabel(target, textToSpeech))
	if err != nil {
		return call.Answer{}, err
	}
	return a.speak(c, target, &req)
}

// speak has text spoken. The answer is a wire.Speech, put together around the audio.
func (a *API) speak(c *call.Call, target route.Target, req *wire.SynthesizeRequest) (call.Answer, error) {
	var body []byte
	var spoken upstream.Spoken
	err := a.serve(c, target, func(ctx context.Context, s *upstream.Service) (err error) {
		if s.Spec.Dialect != plane.DialectSpeech {
			return wrongDialect(s, plane.DialectSpeech)
		}
		body, spoken, err = s.Speak(ctx, req.Text, []byte(`{"type":"audio","audio_b64":"`))
		return err
	})
	if err != nil {
		return call.Answer{}, err
	}
	body = append(body, `","format":"`...)
	body = append(body, spoken.Format...)
	body = append(body, `","language":`...)
	body = appendName(body, req.Language)
	body = append(body, `,"duration_seconds":`...)
	if spoken.Seconds == nil {
		body = append(body, "null"...)
	} else {
		body = strconv.AppendFloat(body, *spoken.Seconds, 'f', -1, 64)
	}
	body = append(body, `,"backend":"`...)
	body = append(body, c.Facts.Backend...)
	body = append(body, `"}`...)
	return call.Answer{Body: body, Use: call.Usage{TokensIn: upstream.Estimate(len(req.Text)), Source: plane.SourceEstimated}}, nil
}

// speechOptions are the kwargs of the task text_to_speech.
type speechOptions struct {
	Language string `json:"language" bind:"max=35,default=en"`
}

// generateSpeech answers generate with the audio of the prompt, and stream with what to send to synthesize for it.
func (a *API) generateSpeech(c *call.Call, target route.Target, req *wire.GenerateRequest, stream bool) (call.Answer, error) {
	var o speechOptions
	if err := bind.Value(req.Kwargs, []any{"body", "kwargs"}, &o); err != nil {
		return call.Answer{}, err
	}
	if _, err := languageOf(o.Language, "body", "kwargs", "language"); err != nil {
		return call.Answer{}, err
	}
	said := wire.SynthesizeRequest{Text: req.Prompt, Language: o.Language}
	if utf8.RuneCountInString(req.Prompt) > speechCharsMax {
		return call.Answer{}, apierr.Violations(apierr.Item{
			Type: "string_too_long", Loc: []any{"body", "prompt"}, Msg: fmt.Sprintf("String should have at most %d characters", speechCharsMax),
			Ctx: map[string]any{"max_length": speechCharsMax},
		})
	}
	if !stream {
		return a.speak(c, target, &said)
	}
	if c.Unstreamable {
		return call.Answer{}, errOldHTTP
	}
	c.Facts.Backend = route.Backend(c.Config, target.Model)
	event, err := json.Marshal(wire.Synthesis{
		Type: "synthesis", Endpoint: "/api/v1/synthesize", Text: req.Prompt, Language: o.Language, Backend: c.Facts.Backend,
	})
	if err != nil {
		return call.Answer{}, fmt.Errorf("encode event: %w", err)
	}
	return call.Answer{Stream: &told{event, a.o.Now}}, nil
}

// told is a stream of one event that is known from the start.
type told struct {
	event []byte
	now   func() time.Time
}

// Relay implements call.Stream.
func (t *told) Relay(w *sse.Writer) call.Outcome {
	w.Data(t.event)
	return call.Outcome{End: plane.EndDone, First: t.now(), Usage: call.Usage{Source: plane.SourceNone}}
}

// Close implements call.Stream.
func (t *told) Close() {}
