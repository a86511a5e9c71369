package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
)

// Member is a member of a request, as the caller wrote it.
type Member struct {
	Name  string
	Value json.RawMessage
}

// extraOf returns the members that are neither ours to read nor passed to every model server. Null is as good as absent.
func extraOf(members map[string]json.RawMessage) (extra []Member) {
	common := passedOn()
	for name, value := range members {
		if own(name) || slices.Contains(common, name) || string(value) == "null" {
			continue
		}
		extra = append(extra, Member{name, value})
	}
	slices.SortFunc(extra, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	return extra
}

// own are the members that the gateway acts on itself.
func own(name string) bool { return name == "model" || name == "stream" || name == "stream_options" }

// checkOwn judges what the gateway would have to do itself and does not.
func checkOwn(k *known, options json.RawMessage) error {
	if k.N != nil && *k.N > 1 { // several answers would be several calls
		return unsupportedValue("n", "1")
	}
	if k.Options == nil || string(options) == `{"include_usage":true}` {
		return nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(options, &members); err != nil {
		return apierr.New(apierr.BadRequest, "stream_options is not a JSON object.").Because(err)
	}
	for name := range members {
		if name != "include_usage" && name != "include_obfuscation" {
			return unknown("stream_options." + name)
		}
	}
	return nil
}

// Extend adds the extra members that the model's servers are passed to what they are sent. One that they are not passed is refused by its
// name, unless the answer is the same without it.
func (r *Request) Extend(passed plane.Parameters) error {
	raw := r.Chat.Raw
	for _, m := range r.Extra {
		switch {
		case passed[m.Name]: // so the name needs no escapes
			raw.Fields = append(raw.Fields, `,"`...)
			raw.Fields = append(raw.Fields, m.Name...)
			raw.Fields = append(raw.Fields, `":`...)
			raw.Fields = append(raw.Fields, m.Value...)
		case !m.idle():
			return m.refusal()
		}
	}
	return nil
}

// idle reports whether an answer is the same without the member: it is about bookkeeping, or asks for what is done anyway.
func (m *Member) idle() bool {
	switch m.Name {
	case "metadata", "safety_identifier", "prompt_cache_key", "prompt_cache_retention", "prompt_cache_options":
		return true
	case "store":
		return string(m.Value) == "false"
	case "service_tier":
		return string(m.Value) == `"auto"` || string(m.Value) == `"default"`
	case "modalities":
		var compact bytes.Buffer
		return json.Compact(&compact, m.Value) == nil && compact.String() == `["text"]`
	}
	return false
}

// refusal is the 400 of a member that would change the answer, in the words of OpenAI's API.
func (m *Member) refusal() error {
	switch m.Name {
	case "store":
		return unsupportedValue(m.Name, "false")
	case "service_tier":
		return unsupportedValue(m.Name, `"auto" and "default"`)
	case "modalities":
		return unsupportedValue(m.Name, `["text"]`)
	case "audio":
		return unsupported(m.Name, "Answers are text; POST /api/v1/synthesize speaks.")
	case "web_search_options", "moderation":
		return unsupported(m.Name, "Its operator can have it passed on.")
	}
	if plane.IsParameter(m.Name) {
		return unsupported(m.Name, "Its operator can have it passed on.")
	}
	return unknown(m.Name)
}

func unsupported(name, hint string) error {
	return apierr.New(apierr.BadRequest, fmt.Sprintf("Unsupported parameter: '%s' is not supported with this model. %s", name, hint)).
		Coded("unsupported_parameter", name)
}

func unsupportedValue(name, supported string) error {
	return apierr.New(apierr.BadRequest, fmt.Sprintf("Unsupported value: '%s' supports %s only.", name, supported)).Coded("unsupported_value", name)
}

func unknown(name string) error {
	name = strings.Trim(fmt.Sprintf("%.64q", name), `"`)
	return apierr.New(apierr.BadRequest, fmt.Sprintf("Unknown parameter: '%s'. Members that OpenAI's API does not have are passed on if "+
		"the operator of the model's server allows it.", name)).Coded("unknown_parameter", name)
}
