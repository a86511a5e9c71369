package catalog

// Bounds of the configuration.
const (
	ImagesMax        = 256
	NameBytesMax     = 64      // of an image's target or version
	LocationBytesMax = 4 << 10 // of an image's path or address
)
