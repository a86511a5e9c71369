package encode

const (
	compressBytesMin = 1 << 10   // of a body that is worth compressing; smaller ones fit in one packet anyway
	zstdWindowBytes  = 128 << 10 // memory of an encoder, and of the client's decoder
)
