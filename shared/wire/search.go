package wire

// DeepSearchRequest is the body of POST /api/v1/deep-search.
type DeepSearchRequest struct {
	Query     string `json:"query" bind:"required,min=1,max=2000"`
	Language  string `json:"language" bind:"max=35,default=en"`
	MaxTokens int64  `json:"max_tokens" bind:"min=1,max=1000000,default=2048"`
}
