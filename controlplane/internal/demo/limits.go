package demo

// Bounds of what the build may hold. It is ours; they catch a build that went wrong.
const (
	DemosMax     = 64
	SDKFilesMax  = 256
	FileBytesMax = 4 << 20 // of a page or a file of the SDK
)
