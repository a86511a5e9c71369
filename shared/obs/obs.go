package obs

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/pprof"
	"runtime"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// The formats of a log.
const (
	formatJSON = "json"
	formatText = "text"
)

// Logger returns a logger that writes to w. The level is debug, info, warn or error, the format json or text.
func Logger(w io.Writer, level, format string) (*slog.Logger, error) {
	least, err := parse(level, format)
	if err != nil {
		return nil, err
	}
	o := &slog.HandlerOptions{Level: least}
	if format == formatJSON {
		return slog.New(slog.NewJSONHandler(w, o)), nil
	}
	return slog.New(slog.NewTextHandler(w, o)), nil
}

// parse checks the words that say what a log looks like.
func parse(level, format string) (least slog.Level, err error) {
	if err := least.UnmarshalText([]byte(level)); err != nil {
		return 0, fmt.Errorf("log level %q: want debug, info, warn or error", level)
	}
	if format != formatJSON && format != formatText {
		return 0, fmt.Errorf("log format %q: want json or text", format)
	}
	return least, nil
}

// Registry returns a metrics registry with the metrics every process has: the Go runtime's, the process's and
// modelgate_build_info for the named binary.
func Registry(binary string) *prometheus.Registry {
	reg := prometheus.NewRegistry()
	reg.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "modelgate_build_info", Help: "Always 1; the labels say what runs.",
			ConstLabels: prometheus.Labels{"binary": binary, "version": Version(), "go": runtime.Version()},
		}, func() float64 { return 1 }),
	)
	return reg
}

// Version is the version of the build: the module's, or the revision it was built from, or "devel".
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return s.Value[:12]
		}
	}
	if info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

// Handler serves /metrics, /healthz (the process lives), /readyz (it can do its work: ready returns nil) and
// /debug/pprof/. It belongs on a private listener.
func Handler(reg *prometheus.Registry, ready func() error) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(reg, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := ready(); err != nil {
			say(w, http.StatusServiceUnavailable, err.Error())
			return
		}
		say(w, http.StatusOK, "ready")
	})
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}

func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	io.WriteString(w, text+"\n") //nolint:errcheck // the prober is gone
}
