package server

import "time"

// Bounds of connections and requests.
const (
	HeaderBytesMax  = 32 << 10
	HeaderTimeout   = 5 * time.Second  // to send the head of a request
	ReadTimeout     = 20 * time.Second // to send a request
	WriteTimeout    = 40 * time.Second // to take an answer, from the end of the head
	IdleTimeout     = 2 * time.Minute  // of a connection between requests
	ShutdownTimeout = 20 * time.Second // for requests in progress when the process stops
	RequestIDMax    = 64               // characters of a client's X-Request-Id
)
