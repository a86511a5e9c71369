package upstream

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/shared/plane"
)

// Drawing is a prompt for an image.
type Drawing struct {
	Prompt []byte // JSON string literal
	Size   string // "1024x1024"; "" leaves it to the upstream
}

// Image is a PNG.
type Image struct {
	B64 string // base64
	Use call.Usage
}

// Draw returns the image for a prompt. It speaks OpenAI's images/generations,
// https://platform.openai.com/docs/api-reference/images/create. Tokens that the upstream does not count are estimated from the
// prompt.
func (s *Service) Draw(ctx context.Context, d *Drawing) (Image, error) {
	reply, err := s.Do(ctx, s.drawing(d))
	if err != nil {
		return Image{}, err
	}
	image, wrong := d.read(reply)
	if wrong != "" {
		return Image{}, s.Invalid(wrong)
	}
	return image, nil
}

// DrawOnce is Draw for a stream of one event, whose payload event makes. The drawing must stay as it is until the call ends.
func (s *Service) DrawOnce(ctx context.Context, d *Drawing, event func(Image) []byte) (call.Stream, error) {
	return s.Once(ctx, s.drawing(d), func(r Reply) (payload []byte, use call.Usage, wrong string) {
		image, wrong := d.read(r)
		if wrong != "" {
			return nil, call.Usage{}, wrong
		}
		return event(image), image.Use, ""
	})
}

func (s *Service) drawing(d *Drawing) *Exchange {
	body, err := json.Marshal(struct {
		Model  string          `json:"model"`
		Prompt json.RawMessage `json:"prompt"`
		N      int             `json:"n"`
		Format string          `json:"response_format"`
		Size   string          `json:"size,omitempty"`
	}{s.model, d.Prompt, 1, "b64_json", d.Size})
	if err != nil {
		panic("BUG: upstream: a prompt is no string literal")
	}
	return &Exchange{Path: "/images/generations", Body: body, Accept: "application/json"}
}

// read returns the image of an answer, or says what is wrong with it.
func (d *Drawing) read(r Reply) (image Image, wrong string) {
	var answer struct {
		Data []struct {
			B64 string `json:"b64_json"`
		} `json:"data"`
		Usage *struct {
			In  int64 `json:"input_tokens"`
			Out int64 `json:"output_tokens"`
		} `json:"usage"`
	}
	if json.Unmarshal(r.Body, &answer) != nil || len(answer.Data) != 1 {
		return Image{}, "is not one image"
	}
	image = Image{
		B64: answer.Data[0].B64,
		Use: call.Usage{TokensIn: estimate(len(d.Prompt) - len(`""`)), Source: plane.SourceEstimated},
	}
	if u := answer.Usage; u != nil && u.In >= 0 && u.Out >= 0 {
		image.Use = call.Usage{TokensIn: u.In, TokensOut: u.Out, Source: plane.SourceProvider}
	}
	switch {
	case image.B64 == "":
		return Image{}, "has no b64_json"
	case !isPNG(image.B64):
		return Image{}, "is not a whole PNG in base64"
	}
	return image, ""
}

// isPNG looks at both ends of a file: the signature with the first chunk's name, and the last chunk, which has no content and so
// always the same checksum. https://www.w3.org/TR/png-3/
func isPNG(b64 string) bool {
	const begin, end = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "\x00\x00\x00\x00IEND\xaeB`\x82"
	file, err := base64.StdEncoding.Strict().DecodeString(b64)
	return err == nil && !strings.ContainsAny(b64, "\r\n") && bytes.HasPrefix(file, []byte(begin)) && bytes.HasSuffix(file, []byte(end))
}
