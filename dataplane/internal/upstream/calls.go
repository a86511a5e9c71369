package upstream

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
)

// Callers answer tool calls by their ids, and servers exist that leave them empty or out. Then the ids are made of the answer's own and
// the number of the call, so that they are the same in every part of the answer.

// identify gives ids to the tool calls of choices, which are in the member delta or message, where they have none. begun tells of the
// call of a number whether a part of it has come before: only the first has an id.
func (r *Raw) identify(choices json.RawMessage, member string, begun func(number int) bool) json.RawMessage {
	var list []map[string]json.RawMessage
	if json.Unmarshal(choices, &list) != nil {
		return choices
	}
	changed := false
	for _, choice := range list {
		var message map[string]json.RawMessage
		var calls []map[string]json.RawMessage
		if json.Unmarshal(choice[member], &message) != nil || json.Unmarshal(message["tool_calls"], &calls) != nil {
			continue
		}
		amended := false
		for i, call := range calls {
			amended = r.identifyCall(i, call, begun) || amended
		}
		if amended {
			message["tool_calls"] = plainJSON(calls)
			choice[member] = plainJSON(message)
			changed = true
		}
	}
	if !changed {
		return choices
	}
	return plainJSON(list)
}

// identifyCall does so for one call, and reports whether it was changed.
func (r *Raw) identifyCall(place int, call map[string]json.RawMessage, begun func(number int) bool) bool {
	if call == nil {
		return false
	}
	number := place
	if value := call["index"]; present(value) && json.Unmarshal(value, &number) != nil {
		return false
	}
	id, given := call["id"]
	has := len(literalText(id)) > 0
	switch later := begun(number); {
	case has || later && !given:
		return false
	case later:
		delete(call, "id")
	default:
		call["id"] = r.callID(number)
	}
	return true
}

// callID is the literal of a tool call's id, in OpenAI's form.
func (r *Raw) callID(number int) json.RawMessage {
	sum := sha256.Sum256(strconv.AppendInt(append(bytes.Clone(r.ID), ' '), int64(number), 10))
	return json.RawMessage(`"call_` + hex.EncodeToString(sum[:12]) + `"`)
}

// plainJSON encodes values that were decoded, without escaping what HTML would need.
func plainJSON(v any) json.RawMessage {
	var b bytes.Buffer
	to := json.NewEncoder(&b)
	to.SetEscapeHTML(false)
	if err := to.Encode(v); err != nil {
		panic("BUG: upstream: what was JSON does not encode: " + err.Error())
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
