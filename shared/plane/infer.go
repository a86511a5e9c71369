package plane

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// What an output tensor of an inference server is, and with that which operation it answers.
const (
	InferEmbedding = "embedding" // of FP32, one vector: the answer of extract
	InferScores    = "scores"    // of FP32, one number for each label: the answer of predict
	InferDepth     = "depth"     // of FP32, height by width, in metres times Scale: the answer of depth-estimate
)

// Bounds of an [InferTask].
const (
	InferLabelsMax = 10_000
	InferDimMax    = 65_536
)

// InferTask says how a task is put to an inference server: the image goes in as one BYTES element with its base64 text
// (content type "base64", as MLServer reads it; in Triton the first step of an ensemble decodes it), one tensor comes out.
type InferTask struct {
	Model   string   `json:"model"`             // name of the model at the server; "" is the upstream's model
	Input   string   `json:"input"`             // name of the tensor that takes the image
	Output  string   `json:"output"`            // name of the tensor that is the answer
	As      string   `json:"as"`                // one of the Infer words
	Dim     int      `json:"dim,omitempty"`     // of an embedding: its length; an answer with another one is refused
	Labels  []string `json:"labels,omitempty"`  // of scores: what the numbers are for, in their order
	Softmax bool     `json:"softmax,omitempty"` // of scores: the numbers are logits
	Scale   float64  `json:"scale,omitempty"`   // of depth: metres for one unit of the tensor; 0 means 1
}

// ParseInfer reads the text of [UpstreamSpec.Infer]: an object with an InferTask for each task. The error names every mistake.
func ParseInfer(text string) (map[string]InferTask, error) {
	var tasks map[string]InferTask
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(&tasks); err != nil {
		return nil, fmt.Errorf("it must be a JSON object of tasks: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more after the JSON object")
	}
	if len(tasks) == 0 {
		return nil, errors.New("it names no task")
	}
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(tasks)) {
		if err := tasks[name].fault(); err != nil {
			faults = append(faults, fmt.Errorf("task %q: %w", name, err))
		}
	}
	return tasks, errors.Join(faults...)
}

func (t InferTask) fault() error {
	switch {
	case t.Input == "" || t.Output == "":
		return errors.New("input and output must name tensors")
	case t.As != InferEmbedding && t.As != InferScores && t.As != InferDepth:
		return fmt.Errorf("as is %q; it must be %s, %s or %s", t.As, InferEmbedding, InferScores, InferDepth)
	case t.As == InferEmbedding && (t.Dim < 1 || t.Dim > InferDimMax):
		return fmt.Errorf("dim is %d; an embedding has from 1 to %d numbers", t.Dim, InferDimMax)
	case t.As == InferScores && (len(t.Labels) < 1 || len(t.Labels) > InferLabelsMax):
		return fmt.Errorf("there are %d labels; scores need from 1 to %d", len(t.Labels), InferLabelsMax)
	case t.As == InferScores && len(slices.Compact(slices.Sorted(slices.Values(t.Labels)))) != len(t.Labels):
		return errors.New("a label is there twice")
	case t.Scale < 0 || t.Scale > 1e6:
		return fmt.Errorf("scale is %g; it must be from 0 to a million metres", t.Scale)
	case strings.ContainsFunc(t.Model, func(r rune) bool { return r <= ' ' || r > '~' || r == '/' || r == '?' || r == '%' }):
		return fmt.Errorf("model %q cannot be a part of a path", t.Model)
	}
	return nil
}

// infer demands the description of a kserve server, and of no other.
func (k *check) infer(where string, u UpstreamSpec) {
	if u.Dialect != DialectInfer {
		if u.Infer != "" {
			k.fault("%s: infer is for the dialect %s only", where, DialectInfer)
		}
		return
	}
	tasks, err := ParseInfer(u.Infer)
	if err != nil {
		k.fault("%s: infer: %w", where, err)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(tasks)) {
		if tasks[name].Model == "" && u.Model == "" {
			k.fault("%s: infer: task %q names no model, and the upstream has none", where, name)
		}
	}
}
