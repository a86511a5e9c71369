package wire

import "time"

// Metrics answers GET and POST /api/developer/metrics.
type Metrics struct {
	Since  time.Time        `json:"since"`
	Events map[string]int64 `json:"events"` // count by event
	Total  int64            `json:"total"`
}

// MetricsQuery is the body of POST /api/developer/metrics. No events means all. The events have the shape of a
// TrackRequest's.
type MetricsQuery struct {
	Events []string `json:"events" bind:"max=64"`
}

// FormattedMetrics answers GET /api/developer/metrics/formatted.
type FormattedMetrics struct {
	Metrics []FormattedMetric `json:"metrics"`
}

// FormattedMetric is a counter for display.
type FormattedMetric struct {
	Event string `json:"event"`
	Label string `json:"label"`
	Value int64  `json:"value"`
	Text  string `json:"text"` // the value with separators: "1,200"
}

// TrackRequest is the body of POST /api/developer/track.
type TrackRequest struct {
	Event string `json:"event" bind:"required,min=1,max=64"` // lower-case letters, digits and underscores, a letter first
}

// Tracked answers POST /api/developer/track.
type Tracked struct {
	Event string `json:"event"`
	Count int64  `json:"count"`
}

// MetricsDebug answers GET /api/developer/metrics/debug.
type MetricsDebug struct {
	Metrics
	MaxEvents int   `json:"max_events"`
	Dropped   int64 `json:"dropped"` // events that were not counted because of MaxEvents
}

// MetricsReset answers POST /api/developer/metrics/reset.
type MetricsReset struct {
	Reset bool      `json:"reset"` // always true
	Since time.Time `json:"since"`
}

// ServiceInfo answers GET /api/developer/info.
type ServiceInfo struct {
	Name           string `json:"name"`
	Version        string `json:"version"`         // of the portal's interface
	GatewayVersion string `json:"gateway_version"` // segment of the gateway's paths
	GatewayURL     string `json:"gateway_url"`
	DarwinURL      string `json:"darwin_url"`
	OpenAPI        string `json:"openapi"` // path of the document
	Docs           string `json:"docs"`    // path of the documentation
}
