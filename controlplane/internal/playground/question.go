package playground

import (
	"bytes"
	"encoding/json"
	"fmt"

	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/bind"
)

// Operation is one of the playground's.
type Operation string

// The operations that are calls to the gateway.
const (
	Task             Operation = "playground"
	TaskStream       Operation = "playgroundStream"
	DeepSearch       Operation = "playgroundDeepSearch"
	Voice            Operation = "playgroundVoice"
	Biometrix        Operation = "playgroundBiometrix"
	DepthEstimate    Operation = "playgroundDepthEstimate"
	SpatialQuery     Operation = "playgroundSpatialQuery"
	MulticamIdentify Operation = "playgroundMulticamIdentify"
)

// question is a call as the gateway gets it.
type question struct {
	path                 string
	body                 map[string]json.RawMessage
	apiKey, appID, keyID string
}

// choice is what every body can say about the key.
type choice struct {
	APIKey string `json:"api_key" bind:"max=256,secret"`
	AppID  string `json:"app_id" bind:"max=64"`
	KeyID  string `json:"key_id" bind:"max=64"`
}

type taskChoice struct {
	choice
	Endpoint string `json:"endpoint" bind:"enum=predict|agent|generate,default=predict"`
	Family   string `json:"family" bind:"max=64,default=darwin"`
	Task     string `json:"task" bind:"max=64,default=conversation"`
}

type voiceChoice struct {
	choice
	Endpoint string `json:"endpoint" bind:"enum=characteristics|analyze|voice-id|transcribe|synthesize,default=characteristics"`
}

type biometrixChoice struct {
	choice
	Endpoint string `json:"endpoint" bind:"required,enum=detect|extract|compare|identify"`
}

// translate makes the gateway's request of the portal's. Errors: 422 about what it looks at.
func translate(op Operation, body []byte) (question, error) {
	var (
		q   question
		c   choice
		err error
	)
	switch op {
	case Task, TaskStream:
		var task taskChoice
		if q, err = read(body, &task); err != nil {
			return q, err
		}
		c = task.choice
		q.askTask(task, op == TaskStream)
	case Voice:
		var voice voiceChoice
		if q, err = read(body, &voice); err != nil {
			return q, err
		}
		c = voice.choice
		q.path = map[string]string{
			"characteristics": "/api/v1/voice/characteristics?request=", "analyze": "/api/v1/voice/analyze?request=",
			"voice-id": "/api/v1/voice-id", "transcribe": "/api/v1/transcribe", "synthesize": "/api/v1/synthesize",
		}[voice.Endpoint]
		delete(q.body, "endpoint")
	case Biometrix:
		var biometrix biometrixChoice
		if q, err = read(body, &biometrix); err != nil {
			return q, err
		}
		c = biometrix.choice
		q.path = "/api/v1/" + biometrix.Endpoint
		delete(q.body, "endpoint")
		q.body["family"] = json.RawMessage(`"biometrix"`)
	default:
		if q, err = read(body, &c); err != nil {
			return q, err
		}
		q.path = map[Operation]string{
			DeepSearch: "/api/v1/deep-search", DepthEstimate: "/api/v1/depth-estimate", SpatialQuery: "/api/v1/spatial-query",
			MulticamIdentify: "/api/v1/multicam-identify",
		}[op]
	}
	if q.path == "" {
		panic("BUG: playground: no operation " + string(op))
	}
	q.apiKey, q.appID, q.keyID = c.APIKey, c.AppID, c.KeyID
	for _, name := range []string{"api_key", "app_id", "key_id"} {
		delete(q.body, name)
	}
	return q, nil
}

// askTask finds the endpoint of a task. predict without an input is a prompt: a conversation of the family darwin is the
// agent's, which takes the model by its name; every other task is generated.
func (q *question) askTask(t taskChoice, stream bool) {
	given := q.body["input_data"]
	if len(given) == 0 || string(given) == "null" {
		given = q.body["input"]
	}
	input := len(given) > 0 && string(given) != "null"
	if delete(q.body, "input_data"); input {
		q.body["input_data"] = given
	}
	for _, name := range []string{"input", "endpoint", "stream"} {
		delete(q.body, name)
	}
	conversation := t.Family == "darwin" && t.Task == "conversation"
	switch {
	case t.Endpoint == "agent", t.Endpoint == "predict" && !input && conversation:
		q.path = "/api/v1/agent"
		for _, name := range []string{"family", "task", "kwargs", "input_data"} {
			delete(q.body, name)
		}
		if stream {
			q.body["stream"] = json.RawMessage("true")
		}
	case stream, t.Endpoint == "generate", !input:
		q.path = "/api/v1/generate"
		if stream {
			q.path = "/api/v1/stream"
		}
		q.inputAsArguments()
	default:
		q.path = "/api/v1/predict"
	}
}

// inputAsArguments is for endpoints that take no input_data: a text is the prompt and an object the arguments, unless there
// are such.
func (q *question) inputAsArguments() {
	input := bytes.TrimSpace(q.body["input_data"])
	delete(q.body, "input_data")
	given := func(name, empty string) bool {
		value, ok := q.body[name]
		return ok && string(value) != empty && string(value) != "null"
	}
	switch {
	case len(input) == 0:
	case input[0] == '"' && !given("prompt", `""`):
		q.body["prompt"] = input
	case input[0] == '{' && !given("kwargs", "{}"):
		q.body["kwargs"] = input
	}
}

// read checks what choice asks for and keeps the rest as it is.
func read(body []byte, choice any) (question, error) {
	if err := bind.JSON(body, choice); err != nil {
		return question{}, err
	}
	q := question{}
	if err := json.Unmarshal(body, &q.body); err != nil {
		return question{}, apierr.New(apierr.BadRequest, "The body could not be read.").Because(err)
	}
	return q, nil
}

func (q *question) encode() ([]byte, error) {
	body, err := json.Marshal(q.body)
	if err != nil {
		return nil, fmt.Errorf("encode a request to the gateway: %w", err)
	}
	return body, nil
}
