package plane

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// ParametersBytesMax bounds [UpstreamSpec.Parameters].
const ParametersBytesMax = 4 << 10

// parametersOf returns the members that a kind of model server takes beyond OpenAI's API, and false for other words. Those that only
// that server's operator should decide on are left out: templates, adapters, places in its queue, bounds of tokens.
func parametersOf(word string) (members string, ok bool) {
	switch word {
	case "llama.cpp": // tools/server/README.md of llama.cpp
		return "top_k min_p typical_p top_n_sigma repeat_penalty repeat_last_n dynatemp_range dynatemp_exponent dry_multiplier dry_base " +
			"dry_allowed_length dry_penalty_last_n dry_sequence_breakers xtc_probability xtc_threshold mirostat mirostat_tau mirostat_eta " +
			"samplers min_keep grammar json_schema ignore_eos cache_prompt reasoning_format chat_template_kwargs", true
	case "vllm": // "Extra parameters" of vLLM's OpenAI-compatible server
		return "top_k min_p repetition_penalty stop_token_ids include_stop_str_in_output ignore_eos min_tokens skip_special_tokens " +
			"spaces_between_special_tokens allowed_token_ids bad_words guided_json guided_regex guided_choice guided_grammar " +
			"structured_outputs add_generation_prompt continue_final_message include_reasoning chat_template_kwargs", true
	case "sglang": // "OpenAI APIs - Completions" of SGLang
		return "top_k min_p repetition_penalty stop_token_ids ignore_eos min_tokens skip_special_tokens spaces_between_special_tokens " +
			"no_stop_trim regex ebnf json_schema separate_reasoning stream_reasoning continue_final_message chat_template_kwargs", true
	}
	return "", false
}

// ParameterGroups are the words that stand for the members that a kind of model server takes.
func ParameterGroups() []string { return []string{"llama.cpp", "sglang", "vllm"} }

// IsParameter reports whether a member is one of a group's.
func IsParameter(member string) bool {
	return slices.ContainsFunc(ParameterGroups(), func(group string) bool {
		members, _ := parametersOf(group)
		return slices.Contains(strings.Fields(members), member)
	})
}

// parameterForm is what a member may be called.
var parameterForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)

// Parameters are members of a chat completion request.
type Parameters map[string]bool

// ParseParameters reads the text of [UpstreamSpec.Parameters]: names of members and of groups, with blanks or commas between them.
// The error names every mistake.
func ParseParameters(text string) (Parameters, error) {
	if len(text) > ParametersBytesMax {
		return nil, fmt.Errorf("it has %d bytes, more than %d", len(text), ParametersBytesMax)
	}
	found := Parameters{}
	var faults []string
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\t' }) {
		group, isGroup := parametersOf(word)
		switch {
		case isGroup:
			for member := range strings.FieldsSeq(group) {
				found[member] = true
			}
		case !parameterForm.MatchString(word):
			faults = append(faults, fmt.Sprintf("%.64q is neither a member nor one of %s", word, strings.Join(ParameterGroups(), ", ")))
		case fixed(word):
			faults = append(faults, word+" is the gateway's to decide")
		default:
			found[word] = true
		}
	}
	if len(faults) > 0 {
		return nil, fmt.Errorf("%s", strings.Join(faults, "; "))
	}
	return found, nil
}

// fixed are the members that no configuration passes on: the gateway writes them itself, cannot carry the answer, or would no longer know how
// many tokens an answer may have.
func fixed(member string) bool {
	switch member {
	case "model", "messages", "stream", "stream_options", "n", "best_of", "use_beam_search", "modalities", "audio",
		"max_tokens", "max_completion_tokens", "n_predict", "num_predict", "max_new_tokens":
		return true
	}
	return false
}

// Passed returns what every server is passed that may answer for an id, which names an upstream or a pool: its members, and where its
// fallbacks lead. So it does not depend on which of them answers.
func (c *Current) Passed(id string) Parameters {
	var all Parameters
	for i, spec := range c.servers(id) {
		one, err := ParseParameters(spec.Parameters)
		if err != nil { // of a newer control plane
			return nil
		}
		if i == 0 {
			all = one
			continue
		}
		for member := range all {
			if !one[member] {
				delete(all, member)
			}
		}
	}
	return all
}

// servers returns the upstreams that may answer for an id.
func (c *Current) servers(id string) []UpstreamSpec {
	pool, ok := c.Pools[id]
	if !ok {
		return c.members(id)
	}
	found := c.members(id)
	for _, f := range pool.Fallbacks {
		target := f.Upstream
		if f.Model != "" {
			target = c.Models[f.Model].Upstream
		}
		found = append(found, c.members(target)...)
	}
	return found
}

// members returns the upstream or the members of the pool that an id names.
func (c *Current) members(id string) (found []UpstreamSpec) {
	if spec, ok := c.Upstreams[id]; ok {
		return []UpstreamSpec{spec}
	}
	for _, m := range c.Pools[id].Members {
		if spec, ok := c.Upstreams[m.Upstream]; ok {
			found = append(found, spec)
		}
	}
	return found
}

func (k *check) parameters(where string, u UpstreamSpec) {
	if u.Parameters == "" {
		return
	}
	if u.Dialect != DialectChat {
		k.fault("%s: parameters are for the dialect %s", where, DialectChat)
	}
	if _, err := ParseParameters(u.Parameters); err != nil {
		k.fault("%s: parameters: %w", where, err)
	}
}
