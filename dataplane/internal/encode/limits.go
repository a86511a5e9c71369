package encode

const (
	frameBytes    = 2 << 10  // of a stream's buffer at its start
	frameBytesMax = 64 << 10 // larger buffers are not kept for other streams
)
