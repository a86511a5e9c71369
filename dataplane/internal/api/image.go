package api

import (
	"context"
	"encoding/json"
	"regexp"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/route"
	"modelgate.internal/dataplane/internal/upstream"
	"modelgate.internal/shared/bind"
	"modelgate.internal/shared/wire"
)

// imageOptions are the kwargs that the task of image generation understands.
type imageOptions struct {
	Size string `json:"size"`
}

// sizeForm is width and height in pixels, as image servers name sizes.
var sizeForm = regexp.MustCompile(`^[1-9]\d{1,3}x[1-9]\d{1,3}$`)

// drawingOf returns what a generate request asks an image server for.
func drawingOf(req *wire.GenerateRequest, prompt []byte) (*upstream.Drawing, error) {
	var options imageOptions
	if err := bind.Value(req.Kwargs, []any{"body", "kwargs"}, &options); err != nil {
		return nil, err
	}
	if options.Size != "" && !sizeForm.MatchString(options.Size) {
		return nil, violation("a size is width and height in pixels, as in 1024x1024", options.Size, "kwargs", "size")
	}
	return &upstream.Drawing{Prompt: prompt, Size: options.Size}, nil
}

// draw asks the target for an image. A stream has one event, and comments until then.
func (a *API) draw(c *call.Call, target route.Target, d *upstream.Drawing, stream bool) (call.Answer, error) {
	if stream {
		return a.serveStream(c, target, func(ctx context.Context, s *upstream.Service) (call.Stream, error) {
			return s.DrawOnce(ctx, d, func(image upstream.Image) []byte { return imageAnswer(c, &image) })
		})
	}
	var image upstream.Image
	err := a.serve(c, target, func(ctx context.Context, s *upstream.Service) (err error) {
		image, err = s.Draw(ctx, d)
		return err
	})
	if err != nil {
		return call.Answer{}, err
	}
	return call.Answer{Body: imageAnswer(c, &image), Use: image.Use}, nil
}

func imageAnswer(c *call.Call, image *upstream.Image) []byte {
	body, err := json.Marshal(wire.ImageAnswer{
		Type: "image", ImageB64: image.B64, Model: c.Facts.Model,
		Usage:   wire.TokenUsage{TokensIn: image.Use.TokensIn, TokensOut: image.Use.TokensOut, Source: image.Use.Source},
		Backend: c.Facts.Backend,
	})
	if err != nil {
		panic("BUG: api: an image of strings and numbers does not encode")
	}
	return body
}
