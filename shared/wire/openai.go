package wire

// OpenAIModels answers GET /v1/models.
type OpenAIModels struct {
	Object string        `json:"object"` // always "list"
	Data   []OpenAIModel `json:"data"`
}

// OpenAIModel is a model as OpenAI's clients know it.
type OpenAIModel struct {
	ID      string `json:"id"`
	Object  string `json:"object"`   // always "model"
	Created int64  `json:"created"`  // Unix seconds; 0, which is not known
	OwnedBy string `json:"owned_by"` // the family
}

// OpenAIError is the body of an error on the paths of OpenAI's API, and the event of one inside a stream.
type OpenAIError struct {
	Error OpenAIErrorBody `json:"error"`
	// LimitReached is set in the last event of a stream that a limit of model tokens ended.
	LimitReached *LimitReachedEvent `json:"limit_reached,omitempty"`
}

// OpenAIErrorBody says what happened and what to do.
type OpenAIErrorBody struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"` // the member of the request that is wrong: "messages[0].role"
	Code    *string `json:"code"`
}
