package upstream

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"

	"modelgate.internal/shared/plane"
)

// The dialect kserve is the Open Inference Protocol, version 2 (KServe, Triton, MLServer, OpenVINO): POST
// /v2/models/{model}/infer with named tensors either way. https://kserve.github.io/website/docs/concepts/architecture/data-plane/v2-protocol

// Tensor is what a model answered. Its numbers are finite.
type Tensor struct {
	Shape []int
	Data  []float64 // row by row
}

// InferTask returns how the task is put to this service, and whether it is.
func (s *Service) InferTask(name string) (plane.InferTask, bool) {
	t, ok := s.tasks[name]
	return t, ok
}

type inferInput struct {
	Name       string            `json:"name"`
	Shape      []int             `json:"shape"`
	Datatype   string            `json:"datatype"`
	Parameters map[string]string `json:"parameters"`
	Data       []string          `json:"data"`
}

type inferRequest struct {
	Inputs  []inferInput        `json:"inputs"`
	Outputs []map[string]string `json:"outputs"`
}

// Infer puts an image, in base64, to the model of a task and returns its tensor.
func (s *Service) Infer(ctx context.Context, t plane.InferTask, image string) (Tensor, error) {
	body, err := json.Marshal(inferRequest{
		Inputs:  []inferInput{{t.Input, []int{1}, "BYTES", map[string]string{"content_type": "base64"}, []string{image}}},
		Outputs: []map[string]string{{"name": t.Output}},
	})
	if err != nil {
		return Tensor{}, fmt.Errorf("encode inference request: %w", err)
	}
	reply, err := s.Do(ctx, &Exchange{
		Path: "/v2/models/" + url.PathEscape(cmp.Or(t.Model, s.model)) + "/infer", Body: body, Accept: "application/json", BytesMax: tensorBytesMax,
	})
	if err != nil {
		return Tensor{}, err
	}
	tensor, wrong := tensorIn(reply.Body, t.Output)
	if wrong != "" {
		return Tensor{}, s.Invalid(wrong)
	}
	return tensor, nil
}

// tensorIn reads the output of a name, or says what is wrong with the answer.
func tensorIn(body []byte, name string) (found Tensor, wrong string) {
	var answer struct {
		Outputs []struct {
			Name     string          `json:"name"`
			Shape    []int           `json:"shape"`
			Datatype string          `json:"datatype"`
			Data     json.RawMessage `json:"data"`
		} `json:"outputs"`
	}
	if json.Unmarshal(body, &answer) != nil {
		return Tensor{}, "is not an inference response"
	}
	for _, o := range answer.Outputs {
		if o.Name != name {
			continue
		}
		if !slices.Contains([]string{"FP16", "BF16", "FP32", "FP64"}, o.Datatype) {
			return Tensor{}, fmt.Sprintf("has an output of %q instead of numbers", o.Datatype)
		}
		values, ok := flat(nil, o.Data, len(o.Shape))
		if !ok {
			return Tensor{}, "has an output with something other than finite numbers"
		}
		if size, ok := product(o.Shape); !ok || size != len(values) {
			return Tensor{}, fmt.Sprintf("has an output of %d numbers for the shape %v", len(values), o.Shape)
		}
		return Tensor{Shape: o.Shape, Data: values}, ""
	}
	return Tensor{}, fmt.Sprintf("lacks the output %q", name)
}

// flat reads numbers in one array, or in arrays nested up to a depth, which the protocol allows as well.
func flat(values []float64, data json.RawMessage, depth int) ([]float64, bool) {
	var numbers []*float64 // pointers, because null would pass for 0
	if json.Unmarshal(data, &numbers) == nil && numbers != nil {
		values = slices.Grow(values, len(numbers))
		for _, n := range numbers {
			if n == nil {
				return nil, false
			}
			values = append(values, *n)
		}
		return values, true
	}
	var rows []json.RawMessage
	if depth <= 1 || json.Unmarshal(data, &rows) != nil {
		return nil, false
	}
	for _, row := range rows {
		var ok bool
		if values, ok = flat(values, row, depth-1); !ok {
			return nil, false
		}
	}
	return values, true
}

func product(shape []int) (size int, ok bool) {
	size = 1
	for _, n := range shape {
		if n < 1 || n > tensorBytesMax || size > tensorBytesMax/n {
			return 0, false
		}
		size *= n
	}
	return size, len(shape) > 0
}
