package playground

import (
	"encoding/json"
	"strings"

	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/wire"
)

// body is a body of the contract. What it has beside the choice of a key goes to the gateway.
type body interface {
	chosen() choice
	ask(q *question) // says where
}

// newBody returns the empty body of an operation.
func newBody(op Operation) body {
	switch op {
	case Task:
		return &taskBody{}
	case TaskStream:
		return &taskBody{stream: true}
	case DeepSearch:
		return &deepSearchBody{}
	case Voice:
		return &voiceBody{}
	case Biometrix:
		return &biometrixBody{}
	case DepthEstimate:
		return &depthBody{}
	case SpatialQuery:
		return &spatialBody{}
	case MulticamIdentify:
		return &multicamBody{}
	}
	panic("BUG: playground: no operation " + string(op))
}

// choice is what every body can say about the key.
type choice struct {
	APIKey string `json:"api_key" bind:"max=256,secret"`
	AppID  string `json:"app_id" bind:"max=64"`
	KeyID  string `json:"key_id" bind:"max=64"`
}

func (c choice) chosen() choice { return c }

// check refuses the value of a key that could not be sent in a header. Keys are printable ASCII.
func (c choice) check() error {
	if !strings.ContainsFunc(c.APIKey, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil
	}
	const what = "a key has neither spaces nor line breaks, and letters of ASCII only"
	return apierr.Violations(apierr.Item{
		Type: "value_error", Loc: []any{"body", "api_key"}, Msg: "Value error, " + what, Input: "**********", Ctx: map[string]any{"error": what},
	})
}

type taskBody struct {
	choice
	Endpoint     string         `json:"endpoint" bind:"enum=predict|agent|generate,default=predict"`
	Family       string         `json:"family" bind:"max=64,default=darwin"`
	Task         string         `json:"task" bind:"max=64,default=conversation"`
	Model        string         `json:"model"`
	Prompt       string         `json:"prompt"`
	SystemPrompt string         `json:"system_prompt"`
	Kwargs       map[string]any `json:"kwargs"`
	stream       bool
}

type voiceBody struct {
	choice
	Endpoint string `json:"endpoint" bind:"enum=characteristics|analyze|voice-id|transcribe|synthesize,default=characteristics"`
}

func (b *voiceBody) ask(q *question) {
	q.path = map[string]string{
		"characteristics": "/api/v1/voice/characteristics?request=", "analyze": "/api/v1/voice/analyze?request=",
		"voice-id": "/api/v1/voice-id", "transcribe": "/api/v1/transcribe", "synthesize": "/api/v1/synthesize",
	}[b.Endpoint]
	delete(q.body, "endpoint")
}

type biometrixBody struct {
	choice
	Endpoint  string         `json:"endpoint" bind:"required,enum=detect|extract|compare|identify"`
	Task      string         `json:"task" bind:"enum=face|iris|liveness|gait|footprint|person_reid|object_signature,default=face"`
	InputData map[string]any `json:"input_data" bind:"required"`
}

func (b *biometrixBody) ask(q *question) {
	q.path = "/api/v1/" + b.Endpoint
	delete(q.body, "endpoint")
	q.body["family"] = json.RawMessage(`"biometrix"`)
}

type deepSearchBody struct {
	choice
	wire.DeepSearchRequest
}

func (b *deepSearchBody) ask(q *question) { q.path = "/api/v1/deep-search" }

type depthBody struct {
	choice
	wire.DepthRequest
}

func (b *depthBody) ask(q *question) { q.path = "/api/v1/depth-estimate" }

type spatialBody struct {
	choice
	wire.SpatialRequest
}

func (b *spatialBody) ask(q *question) { q.path = "/api/v1/spatial-query" }

type multicamBody struct {
	choice
	wire.MulticamRequest
}

func (b *multicamBody) ask(q *question) { q.path = "/api/v1/multicam-identify" }
