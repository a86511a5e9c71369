package api

// Bounds of requests.
const (
	BodyBytesMax      = 256 << 10 // any body
	TokenBodyBytesMax = 16 << 10  // the free-form object of a Darwin token, which is stored
)
