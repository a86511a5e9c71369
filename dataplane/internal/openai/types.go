package openai

// typed are the types of the members that are passed on as they are, or have no effect. What they may be beyond that is the model server's
// to say.
type typed struct {
	ToolChoice        any             `json:"tool_choice" bind:"types=string|object|null"`
	ParallelToolCalls *bool           `json:"parallel_tool_calls"`
	FunctionCall      any             `json:"function_call" bind:"types=string|object|null"`
	ResponseFormat    *map[string]any `json:"response_format"`
	Stop              any             `json:"stop" bind:"types=string|array|null"`
	Seed              *int64          `json:"seed"`
	FrequencyPenalty  *float64        `json:"frequency_penalty"`
	PresencePenalty   *float64        `json:"presence_penalty"`
	LogitBias         *map[string]any `json:"logit_bias"`
	Logprobs          *bool           `json:"logprobs"`
	TopLogprobs       *int64          `json:"top_logprobs"`
	ReasoningEffort   *string         `json:"reasoning_effort"`
	Verbosity         *string         `json:"verbosity"`
	Prediction        *map[string]any `json:"prediction"`
	User              *string         `json:"user"`

	Metadata             *map[string]any `json:"metadata"`
	SafetyIdentifier     *string         `json:"safety_identifier"`
	PromptCacheKey       *string         `json:"prompt_cache_key"`
	PromptCacheRetention *string         `json:"prompt_cache_retention"`
	PromptCacheOptions   *map[string]any `json:"prompt_cache_options"`
}

// checkStop judges the elements of a list, which package bind has no type for beside a text.
func (t *typed) checkStop() error {
	list, _ := t.Stop.([]any)
	for i, element := range list {
		if _, ok := element.(string); !ok {
			return violation("string_type", "Input should be a valid string", "body", "stop", i)
		}
	}
	return nil
}
