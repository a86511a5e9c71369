// Package kserve answers the Open Inference Protocol with tensors made of nothing but the request: the same request gets the same
// numbers. It judges no image and says so in model_version.
//
// The name of a model says what it answers: "embedding-8" eight numbers, "scores-3" three, "depth-4x6" four rows of six. The
// request must have one BYTES input of one element and name one output. The package keeps no state and may be used by many
// goroutines; a request that it does not understand is an error, which the server answers with 400.
package kserve

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// sizeMax bounds the numbers of an answer.
const sizeMax = 1 << 20

type request struct {
	Inputs []struct {
		Name     string   `json:"name"`
		Shape    []int    `json:"shape"`
		Datatype string   `json:"datatype"`
		Data     []string `json:"data"`
	} `json:"inputs"`
	Outputs []struct {
		Name string `json:"name"`
	} `json:"outputs"`
}

// Answer returns the answer to the body of a request for the model in the path.
func Answer(r *http.Request, body []byte) ([]byte, error) {
	var req request
	if err := json.Unmarshal(body, &req); err != nil {
		return nil, fmt.Errorf("read inference request: %w", err)
	}
	if len(req.Inputs) != 1 || req.Inputs[0].Datatype != "BYTES" || len(req.Inputs[0].Data) != 1 || len(req.Outputs) != 1 {
		return nil, fmt.Errorf("the request must have one BYTES input with one element, and one output")
	}
	shape, size, err := shapeOf(r.PathValue("model"))
	if err != nil {
		return nil, err
	}
	seed := sha256.Sum256([]byte(req.Inputs[0].Data[0]))
	data := make([]float64, size)
	for i := range data {
		data[i] = float64(1+int(seed[i%len(seed)])+i%7) / 64
	}
	return json.Marshal(map[string]any{
		"model_name": r.PathValue("model"), "model_version": "simulator",
		"outputs": []any{map[string]any{"name": req.Outputs[0].Name, "datatype": "FP32", "shape": shape, "data": data}},
	})
}

func shapeOf(model string) (shape []int, size int, err error) {
	kind, dims, _ := strings.Cut(model, "-")
	shape, size = []int{1}, 1
	for d := range strings.SplitSeq(dims, "x") {
		n, err := strconv.Atoi(d)
		if err != nil || n < 1 || size > sizeMax/n {
			return nil, 0, fmt.Errorf("the model must be called like embedding-8, scores-3 or depth-4x6, not %q", model)
		}
		shape, size = append(shape, n), size*n
	}
	if kind != "embedding" && kind != "scores" && kind != "depth" {
		return nil, 0, fmt.Errorf("there is no simulated model %q", model)
	}
	return shape, size, nil
}
