package api

import (
	_ "embed" // the script is part of the binary
	"net/http"

	"modelgate.internal/controlplane/internal/account"
	"modelgate.internal/controlplane/internal/counter"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/bind"
	"modelgate.internal/shared/wire"
)

//go:embed embed/metrics.js
var metricsJS string

// OpenPath is what the paths begin with that pages of any origin may call.
const OpenPath = "/api/developer/"

// imagePolicy lets an image that is opened by itself load and run nothing.
const imagePolicy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// metricsQuery are the parameters of the badge.
type metricsQuery struct {
	Event string `json:"event" bind:"min=1,max=64,default=page_view"`
}

// open makes a handler of one that anybody may call from any page, as fast as the pace lets their network. There is
// nothing to steal: no credential is taken and nothing private is answered. The server opens all below [OpenPath] to pages.
func (a *API) open(pace *counter.Pace, h Handler) Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if err := pace.Take(account.Network(remote(r))); err != nil {
			return err
		}
		return h(w, r)
	}
}

func (a *API) getMetrics(w http.ResponseWriter, r *http.Request) error {
	state, err := a.Counters.All(r.Context())
	if err != nil {
		return err
	}
	return writeJSON(w, metrics(state))
}

func (a *API) queryMetrics(w http.ResponseWriter, r *http.Request) error {
	var q wire.MetricsQuery
	if err := readJSONUpTo(r, MetricsBodyBytesMax, &q); err != nil {
		return err
	}
	state, err := a.Counters.Chosen(r.Context(), q.Events)
	if err != nil {
		return err
	}
	return writeJSON(w, metrics(state))
}

func metrics(s counter.State) wire.Metrics {
	return wire.Metrics{Since: s.Since, Events: s.Events, Total: s.Total()}
}

func (a *API) formattedMetrics(w http.ResponseWriter, r *http.Request) error {
	state, err := a.Counters.All(r.Context())
	if err != nil {
		return err
	}
	answer := wire.FormattedMetrics{Metrics: []wire.FormattedMetric{}}
	for _, s := range state.Formatted() {
		answer.Metrics = append(answer.Metrics, wire.FormattedMetric(s))
	}
	return writeJSON(w, answer)
}

func (a *API) trackEvent(w http.ResponseWriter, r *http.Request) error {
	var body wire.TrackRequest
	if err := readJSONUpTo(r, TrackBodyBytesMax, &body); err != nil {
		return err
	}
	count, err := a.Counters.Track(r.Context(), body.Event)
	if err != nil {
		return err
	}
	return writeJSON(w, wire.Tracked{Event: body.Event, Count: count})
}

func (a *API) metricsScript(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
	w.Header().Set("Cache-Control", "public, max-age=3600")
	w.Write([]byte(metricsJS)) //nolint:errcheck // the client has gone
	return nil
}

func (a *API) metricsBadge(w http.ResponseWriter, r *http.Request) error {
	var q metricsQuery
	if err := bind.Query(r.URL.Query(), &q); err != nil {
		return err
	}
	count, err := a.Counters.One(r.Context(), q.Event)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "image/svg+xml")
	w.Header().Set("Content-Security-Policy", imagePolicy)
	w.Header().Set("Cache-Control", "public, max-age=60")
	w.Write(counter.Badge(counter.Label(q.Event), counter.Number(count))) //nolint:errcheck // the client has gone
	return nil
}

func (a *API) debugMetrics(w http.ResponseWriter, r *http.Request) error {
	state, err := a.Counters.Debug(r.Context())
	if err != nil {
		return err
	}
	return writeJSON(w, wire.MetricsDebug{Metrics: metrics(state), MaxEvents: counter.EventsMax, Dropped: state.Dropped})
}

// resetMetrics takes no request that a page of another origin had a browser send: the operator may have opened it to a
// private network, which browsers are part of.
func (a *API) resetMetrics(w http.ResponseWriter, r *http.Request) error {
	if err := http.NewCrossOriginProtection().Check(r); err != nil {
		return apierr.New(apierr.Forbidden, "Pages of other origins cannot reset the counters.").Because(err)
	}
	since, err := a.Counters.Reset(r.Context())
	if err != nil {
		return err
	}
	return writeJSON(w, wire.MetricsReset{Reset: true, Since: since})
}

func (a *API) developerInfo(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Cache-Control", "public, max-age=60")
	return writeJSON(w, wire.ServiceInfo{
		Name: a.document.title, Version: a.document.version, GatewayVersion: gatewayVersion, GatewayURL: a.GatewayURL,
		DarwinURL: a.DarwinURL, OpenAPI: "/dev/openapi", Docs: "/dev/docs-page",
	})
}

// gatewayVersion is the segment of the gateway's paths.
const gatewayVersion = "v1"
