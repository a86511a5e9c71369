package server

import (
	"log/slog"
	"net/http"
	"strings"
	"time"

	"modelgate.internal/controlplane/internal/api"
)

// Options say how to serve.
type Options struct {
	Log        *slog.Logger
	Observe    func(operation string, status int, took time.Duration) // counts an answer; nil counts nothing
	PublicURL  string                                                 // https makes browsers insist on it
	GatewayURL string                                                 // the portal's pages may call it
	Now        func() time.Time
}

// New returns the handler for everything that the control plane serves in public.
func New(a *api.API, o Options) http.Handler {
	google := a.Accounts.Google.ClientID() != ""
	s := &server{o: o, mux: http.NewServeMux(), file: a.HasPortalRoot, policy: portalPolicy(o.GatewayURL, google), google: google, https: strings.HasPrefix(o.PublicURL, "https://")}
	for _, route := range append(a.Routes(), a.Planned()...) {
		h := route.Handler
		if route.Path == demoFilePath {
			h = demoFile(h, a.PortalRoot)
		}
		s.handle(route.Method+" "+pattern(route.Path), route.OperationID, h)
	}
	s.handle("GET /dev/assets/{file...}", "portalAsset", a.PortalAsset)
	s.handle("GET /{$}", "root", toPortal)
	return s
}

// HTTP returns an http.Server with the limits of this package. Its log lines go to log.
func HTTP(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: HeaderTimeout, ReadTimeout: ReadTimeout, WriteTimeout: WriteTimeout, IdleTimeout: IdleTimeout,
		MaxHeaderBytes: HeaderBytesMax, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

// demoFilePath is the one path of the contract that a ServeMux cannot say: a wildcard must be a whole segment.
const demoFilePath = "/dev/{demo_file}.html"

// filePattern is where that path is, and with it all files beside the portal's page.
const filePattern = "GET /dev/{page}"

// pattern is the mux's way to write a path of the contract.
func pattern(path string) string {
	switch {
	case path == demoFilePath:
		return strings.TrimPrefix(filePattern, "GET ")
	case strings.HasSuffix(path, "_path}"): // may hold slashes
		return strings.TrimSuffix(path, "}") + "...}"
	case strings.HasSuffix(path, "/"):
		return path + "{$}"
	default:
		return path
	}
}

// demoFile sends pages to demo and all other names beside it to file.
func demoFile(demo, file api.Handler) api.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if strings.HasSuffix(r.PathValue("page"), ".html") {
			return demo(w, r)
		}
		return file(w, r)
	}
}

func toPortal(w http.ResponseWriter, r *http.Request) error {
	http.Redirect(w, r, "/dev/", http.StatusFound)
	return nil
}
