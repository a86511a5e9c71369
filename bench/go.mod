module modelgate.internal/bench

go 1.26.0

require modelgate.internal/shared v0.0.0

require (
	github.com/HdrHistogram/hdrhistogram-go v1.4.0 // indirect
	github.com/goccy/go-yaml v1.19.2 // indirect
)

replace modelgate.internal/shared => ../shared
