package result

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	_ "image/jpeg" // the formats whose size can be read
	"image/png"
	"math"
	"slices"
	"time"

	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/wire"
)

// Embedding makes the answer of extract of a vector, or says what is wrong with it.
func Embedding(task plane.InferTask, data []float64) (answer map[string]any, wrong string) {
	if len(data) != task.Dim {
		return nil, fmt.Sprintf("has an embedding of %d numbers instead of %d", len(data), task.Dim)
	}
	if !slices.ContainsFunc(data, func(n float64) bool { return n != 0 }) {
		return nil, "has an embedding of zeros"
	}
	return map[string]any{"embedding": data, "embedding_dim": len(data)}, ""
}

// Scores makes the answer of predict of one number for each label, or says what is wrong with them.
func Scores(task plane.InferTask, family, name string, data []float64) (answer map[string]any, wrong string) {
	if len(data) != len(task.Labels) {
		return nil, fmt.Sprintf("has %d scores for %d labels", len(data), len(task.Labels))
	}
	if task.Softmax {
		data = softmax(data)
	}
	best, scores := 0, make(map[string]float64, len(data))
	for i, score := range data {
		scores[task.Labels[i]] = score
		if score > data[best] {
			best = i
		}
	}
	result := map[string]any{"label": task.Labels[best], "score": data[best], "scores": scores}
	return map[string]any{"family": family, "task": name, "result": result}, ""
}

// softmax turns logits into shares of 1. The largest is taken off first, so that nothing overflows.
func softmax(logits []float64) []float64 {
	shares, sum, top := make([]float64, len(logits)), 0.0, slices.Max(logits)
	for i, x := range logits {
		shares[i] = math.Exp(x - top)
		sum += shares[i]
	}
	for i := range shares {
		shares[i] /= sum
	}
	return shares
}

// samplesMax bounds what is looked at of a box, in each direction.
const samplesMax = 64

// farthest is the largest depth in metres that is believed.
const farthest = 1e6

// depthMax is the largest depth in millimetres that the map can hold; what is farther has it, too.
const depthMax = math.MaxUint16

// Scene is the image that depth was asked for.
type Scene struct {
	Width, Height int // pixels
	Request       *wire.DepthRequest
	Calibrated    bool // the request has intrinsics
}

// SceneOf reads the size of an image in base64, PNG or JPEG.
func SceneOf(req *wire.DepthRequest, calibrated bool) (Scene, error) {
	data, err := base64.StdEncoding.DecodeString(req.ImageBase64)
	if err != nil {
		return Scene{}, fmt.Errorf("decode base64: %w", err)
	}
	size, _, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return Scene{}, fmt.Errorf("read image: %w", err)
	}
	return Scene{size.Width, size.Height, req, calibrated}, nil
}

// DepthMap makes the answer of depth-estimate of a tensor of height by width, or says what is wrong with it. A detection is as far
// as the median of the map within its box. Its place is that of the centre of the box, as far as it is inside the image, in the pinhole model; without intrinsics the
// focal length is taken for the width of the image, which is a field of view of 53 degrees.
func (s Scene) DepthMap(task plane.InferTask, shape []int, data []float64, took time.Duration) (answer map[string]any, wrong string) {
	if len(shape) < 2 || shape[len(shape)-2]*shape[len(shape)-1] != len(data) {
		return nil, fmt.Sprintf("has a depth map of the shape %v", shape)
	}
	h, w := shape[len(shape)-2], shape[len(shape)-1]
	scale := task.Scale
	if scale == 0 {
		scale = 1
	}
	metres, picture := make([]float64, len(data)), image.NewGray16(image.Rect(0, 0, w, h))
	for i, d := range data {
		if d *= scale; d < 0 || d > farthest {
			return nil, fmt.Sprintf("has a depth of %g m", d)
		}
		metres[i] = d
		picture.SetGray16(i%w, i/w, color.Gray16{Y: uint16(min(math.Round(d*1000), depthMax))})
	}
	var file bytes.Buffer
	if err := png.Encode(&file, picture); err != nil {
		return nil, "has a depth map that cannot be a picture"
	}
	placed := make([]map[string]any, 0, len(s.Request.Detections))
	for _, d := range s.Request.Detections {
		placed = append(placed, s.place(d.Bbox, metres, w, h))
	}
	return map[string]any{
		"depth_map_b64": base64.StdEncoding.EncodeToString(file.Bytes()), "detections_3d": placed,
		"latency_ms": float64(took.Microseconds()) / 1000,
	}, ""
}

// inside returns a coordinate as far as it is in the image.
func inside(v float64, limit int) float64 { return min(max(v, 0), float64(limit)) }

// place finds a box in space.
func (s Scene) place(box []float64, metres []float64, w, h int) map[string]any {
	column := func(x float64) int { return min(int(inside(x, s.Width)/float64(s.Width)*float64(w)), w-1) }
	row := func(y float64) int { return min(int(inside(y, s.Height)/float64(s.Height)*float64(h)), h-1) }
	centre := [2]float64{
		(inside(box[0], s.Width) + inside(box[2], s.Width)) / 2, (inside(box[1], s.Height) + inside(box[3], s.Height)) / 2,
	}
	left, top := column(box[0]), row(box[1])
	right, bottom := max(column(box[2]), left), max(row(box[3]), top)
	var within []float64
	for y := top; y <= bottom; y += (bottom-top)/samplesMax + 1 {
		for x := left; x <= right; x += (right-left)/samplesMax + 1 {
			within = append(within, metres[y*w+x])
		}
	}
	slices.Sort(within)
	z := within[len(within)/2]
	in := s.Request.Intrinsics
	if !s.Calibrated {
		in = wire.Intrinsics{Fx: float64(s.Width), Fy: float64(s.Width), Cx: float64(s.Width) / 2, Cy: float64(s.Height) / 2}
	}
	x, y := (centre[0]-in.Cx)/in.Fx*z, (centre[1]-in.Cy)/in.Fy*z
	return map[string]any{
		"bbox": box, "position_m": []float64{x, y, z}, "distance_m": math.Sqrt(x*x + y*y + z*z),
	}
}
