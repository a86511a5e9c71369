package mockmodel

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"hash/fnv"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"strings"
)

const imagePixels = 256 // width and height

// letters are the word that every simulated image bears, seven rows of five pixels each.
func letters() []string {
	return []string{ // S I M U L A T E D
		".#### #####.#...# #...# #.... .###. ##### ##### ####.",
		"#....  .#.  ##.## #...# #.... #...#  .#.  #.... #...#",
		"#....  .#.  #.#.# #...# #.... #...#  .#.  #.... #...#",
		".###.  .#.  #...# #...# #.... #####  .#.  ####. #...#",
		"....#  .#.  #...# #...# #.... #...#  .#.  #.... #...#",
		"....#  .#.  #...# #...# #.... #...#  .#.  #.... #...#",
		"####. ##### #...# .###. ##### #...#  .#.  ##### ####.",
	}
}

// draw answers POST /v1/images/generations with a labelled pattern in the colours of the prompt.
func (s *Server) draw(_ *http.Request, body []byte) said {
	var q struct {
		Prompt string
		Format string `json:"response_format"`
	}
	if json.Unmarshal(body, &q) != nil || q.Prompt == "" || q.Format != "b64_json" {
		return said{status: http.StatusBadRequest, answer: map[string]any{"error": map[string]string{
			"message": "The simulator draws for a prompt, as response_format b64_json.", "type": "invalid_request_error",
		}}}
	}
	return said{words: q.Prompt, answer: map[string]any{
		"created": s.cfg.Now().Unix(), "data": []map[string]string{{"b64_json": base64.StdEncoding.EncodeToString(pattern(q.Prompt))}},
	}}
}

// pattern returns stripes with the label over them, as PNG.
func pattern(prompt string) []byte {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(prompt)) // never fails
	n := sum.Sum32()
	picture := image.NewPaletted(image.Rect(0, 0, imagePixels, imagePixels), color.Palette{
		color.Gray{255}, color.Black, color.RGBA{uint8(n), uint8(n >> 8), uint8(n >> 16), 255},
	})
	for y := range imagePixels {
		for x := range imagePixels {
			const stripe = 16
			if (x+y)/stripe%2 == 0 {
				picture.SetColorIndex(x, y, 2)
			}
		}
	}
	const scale, left, top = 4, 20, 114
	for row, line := range letters() {
		for column, pixel := range strings.TrimRight(line, " ") {
			for i := range scale * scale {
				ink := uint8(0)
				if pixel == '#' {
					ink = 1
				}
				picture.SetColorIndex(left+column*scale+i%scale, top+row*scale+i/scale, ink)
			}
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, picture); err != nil {
		panic("BUG: mockmodel: a picture does not encode")
	}
	return b.Bytes()
}
