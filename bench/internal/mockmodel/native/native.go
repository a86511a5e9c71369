// Package native answers the gateway's own contract, in place of servers for predictions, biometrics, vision and skills. It looks
// at no image and hears no voice: what it finds is made of the bytes of the request, so the same request gets the same answer, and
// every answer has "simulator":true and "backend":"simulator".
//
// Samples with equal text are the same person to it, and others are not. A gallery remembers what was enrolled, by account and
// task, until the process ends; it holds a bounded number of subjects. An [Answers] may be used by many goroutines. A request
// that it does not understand is an error, which the server answers with 400.
package native

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// Answers holds the galleries.
type Answers struct{ people gallery }

// New returns answers without anybody enrolled.
func New() *Answers { return &Answers{people: gallery{known: map[string]map[string]sample{}}} }

// object is a decoded JSON object.
type object = map[string]any

// asked is a request.
type asked struct {
	account string
	body    object
	input   object // input_data, an empty object without it
	task    string
}

// Answer returns the answer to the body of a request; the path behind /native says what is asked.
func (n *Answers) Answer(r *http.Request, body []byte) ([]byte, error) {
	a := asked{account: r.Header.Get("X-Account-Id")}
	if err := json.Unmarshal(body, &a.body); err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	if a.input, _ = a.body["input_data"].(object); a.input == nil {
		a.input = object{}
	}
	if a.task, _ = a.body["task"].(string); a.task == "" {
		a.task = "face"
	}
	path := strings.TrimPrefix(r.URL.Path, "/native")
	skill, isSkill := strings.CutPrefix(path, "/skills/")
	operation, known := n.operations()[path]
	var answer object
	switch {
	case isSkill:
		answer = n.skill(skill, &a)
	case known:
		answer = operation(&a)
	default:
		return nil, errors.New("nothing is simulated at " + path)
	}
	answer["simulator"], answer["backend"] = true, "simulator"
	return json.Marshal(answer)
}

func (n *Answers) operations() map[string]func(*asked) object {
	return map[string]func(*asked) object{
		"/predict": predict, "/generate": predict, "/stream": predict,
		"/detect": detect, "/extract": extract, "/compare": compare,
		"/identify": n.identify, "/enroll": n.enroll, "/delete_enrollment": n.remove, "/match": n.match,
		"/depth-estimate": depth, "/spatial-query": n.spatial, "/multicam-identify": n.multicam, "/tracking/analyze": track,
	}
}

func text(o object, name string) string {
	s, _ := o[name].(string)
	return s
}

func number(o object, name string, otherwise float64) float64 {
	if n, ok := o[name].(float64); ok {
		return n
	}
	return otherwise
}
