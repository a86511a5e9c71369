package playground

import (
	"bytes"
	"encoding/json"
)

// ask finds the endpoint of a task. A conversation of the family darwin is the agent's, which takes the model by its name. Other prompts
// are generated, and so is what a chat model answers; for the family darwin an input that is a text is a prompt. The rest is predict's.
func (b *taskBody) ask(q *question) {
	input := q.takeInput()
	for _, name := range []string{"endpoint", "stream"} {
		delete(q.body, name)
	}
	darwin := b.Family == "darwin"
	prompt := input == nil || darwin && input[0] == '"'
	switch {
	case b.Endpoint == "agent", b.Endpoint == "predict" && darwin && b.Task == "conversation" && prompt:
		q.askAgent(input, b.stream)
	case b.stream, b.Endpoint == "generate", prompt, darwin && ofWords(b.Task):
		q.path = "/api/v1/generate"
		if b.stream {
			q.path = "/api/v1/stream"
		}
		q.say(b)
		q.inputAsArguments(input)
	default:
		q.path = "/api/v1/predict"
		q.say(b)
		q.body["input_data"] = input
	}
}

// ofWords are the tasks of the family darwin that a chat model answers.
func ofWords(task string) bool {
	switch task {
	case "conversation", "reasoning", "planning", "code", "vision":
		return true
	}
	return false
}

// takeInput takes the input out of the body, under either of its names, or returns nil.
func (q *question) takeInput() json.RawMessage {
	var input json.RawMessage
	for _, name := range []string{"input", "input_data"} { // the latter counts
		if value := bytes.TrimSpace(q.body[name]); len(value) > 0 && string(value) != "null" {
			input = value
		}
		delete(q.body, name)
	}
	return input
}

// say names the family and the task, also where they are the defaults: the gateway's endpoints have others, or none.
func (q *question) say(b *taskBody) {
	for name, value := range map[string]string{"family": b.Family, "task": b.Task} {
		text, err := json.Marshal(value)
		if err != nil {
			panic("BUG: playground: a text does not encode: " + err.Error())
		}
		q.body[name] = text
	}
}

// askAgent asks for an answer to the prompt, which an input that is a text can be.
func (q *question) askAgent(input json.RawMessage, stream bool) {
	q.path = "/api/v1/agent"
	for _, name := range []string{"family", "task", "kwargs"} {
		delete(q.body, name)
	}
	if input != nil && input[0] == '"' && !q.has("prompt", `""`) {
		q.body["prompt"] = input
	}
	if stream {
		q.body["stream"] = json.RawMessage("true")
	}
}

// inputAsArguments is for endpoints that take no input_data: a text is the prompt and an object the arguments, unless there
// are such.
func (q *question) inputAsArguments(input json.RawMessage) {
	switch {
	case input == nil:
	case input[0] == '"' && !q.has("prompt", `""`):
		q.body["prompt"] = input
	case input[0] == '{' && !q.has("kwargs", "{}"):
		q.body["kwargs"] = input
	}
}

// has reports whether the body has a member with something in it.
func (q *question) has(name, empty string) bool {
	value := bytes.TrimSpace(q.body[name])
	return len(value) > 0 && string(value) != empty && string(value) != "null"
}
