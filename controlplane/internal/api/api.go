package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"modelgate.internal/controlplane/internal/account"
	"modelgate.internal/controlplane/internal/alert"
	"modelgate.internal/controlplane/internal/app"
	"modelgate.internal/controlplane/internal/audit"
	"modelgate.internal/controlplane/internal/billing"
	"modelgate.internal/controlplane/internal/catalog"
	"modelgate.internal/controlplane/internal/counter"
	"modelgate.internal/controlplane/internal/demo"
	"modelgate.internal/controlplane/internal/export"
	"modelgate.internal/controlplane/internal/ledger"
	"modelgate.internal/controlplane/internal/mail"
	"modelgate.internal/controlplane/internal/org"
	"modelgate.internal/controlplane/internal/playground"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/bind"
	"modelgate.internal/shared/key"
	"modelgate.internal/shared/wire"
)

// Usage is what the handlers ask of the ledger.
type Usage interface {
	// AppUsage and AccountUsage are the usage of an app and of all of an account.
	AppUsage(ctx context.Context, appID string, q ledger.Question, now time.Time) (wire.AppUsage, error)
	AccountUsage(ctx context.Context, accountID string, q ledger.Question, now time.Time) (wire.AccountUsage, error)
	// DayUsed is how much of the day quota an account has used on the UTC day of now.
	DayUsed(ctx context.Context, accountID string, now time.Time) (int64, error)
	// MinuteUsed is which keys and apps of an account were used in the UTC minute of now and the one before.
	MinuteUsed(ctx context.Context, accountID string, now time.Time) ([]wire.KeyMinute, []wire.AppMinute, error)
	// AppCalls is a page of the log of an app's calls.
	AppCalls(ctx context.Context, q ledger.CallQuery, now time.Time) (wire.RequestPage, error)
}

// Config is what the interface is made of.
type Config struct {
	Accounts      *account.Accounts
	Apps          *app.Apps
	Orgs          *org.Orgs
	Audit         *audit.Log
	Nodes         Nodes
	Playground    *playground.Playground
	Usage         Usage
	Mailer        *mail.Mailer
	Exports       export.Reader
	ExportPace    *counter.Pace // of each developer
	Billing       *billing.Billing
	Alerts        *alert.Alerts
	Catalog       wire.Catalog
	Images        *catalog.Images
	Counters      *counter.Counters
	CounterReads  *counter.Pace
	CounterWrites *counter.Pace
	Streams       *key.StreamSigner
	StreamPace    *counter.Pace // of each developer
	Searches      *counter.Pace // for developers
	Looks         *counter.Pace // at invites
	Mails         *counter.Pace // that members have sent to others
	Portal        fs.FS         // with index.html
	Demos         *demo.Demos   // nil reads them from Portal
	PublicURL     string
	GatewayURL    string
	DarwinURL     string
	Now           func() time.Time
}

// API holds the handlers.
type API struct {
	Config
	document document
	portal   []byte // index.html, filled in

	downloads chan struct{} // holds one for every image that is being sent
}

// New returns the handlers. An error means that something embedded is broken.
func New(c Config) (*API, error) {
	a := &API{Config: c, downloads: make(chan struct{}, DownloadsMax)}
	var err error
	if a.document, err = newDocument(); err != nil {
		return nil, err
	}
	if a.portal, err = builtPage(c.Portal, "index.html", c.GatewayURL); err != nil {
		return nil, err
	}
	if a.Demos == nil {
		if a.Demos, err = demo.Load(c.Portal, c.GatewayURL); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// Handler answers a request. A returned error is written as the contract says; nothing may have been written then.
type Handler func(w http.ResponseWriter, r *http.Request) error

// Developer is who a request is from, for the log. The server puts it into the request's context.
type Developer struct{ ID string }

type developerKey struct{}

// WithDeveloper returns a context in which handlers note the developer they recognized.
func WithDeveloper(ctx context.Context, d *Developer) context.Context {
	return context.WithValue(ctx, developerKey{}, d)
}

// signedIn makes a handler of one that needs to know the developer.
func (a *API) signedIn(h func(w http.ResponseWriter, r *http.Request, developerID string) error) Handler {
	return a.inSession(func(w http.ResponseWriter, r *http.Request, who account.Identity) error {
		return h(w, r, who.DeveloperID)
	})
}

// inSession makes a handler of one that needs to know the developer and the session.
func (a *API) inSession(h func(w http.ResponseWriter, r *http.Request, who account.Identity) error) Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		who, err := a.Accounts.Authenticate(r.Context(), bearer(r))
		if err != nil {
			return err
		}
		if d, ok := r.Context().Value(developerKey{}).(*Developer); ok {
			d.ID = who.DeveloperID
		}
		return h(w, by(r, who), who)
	}
}

// bearer is the token of the Authorization header, or empty.
func bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// remote is the address of the client without its port.
func remote(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// readBody returns the body, which may have up to limit bytes.
func readBody(r *http.Request, limit int64) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, limit))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, apierr.New(apierr.TooLarge, fmt.Sprintf("The body is larger than %d bytes.", limit))
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, apierr.New(apierr.Timeout, "The body did not arrive in time.").Because(err)
	}
	if err != nil {
		return nil, apierr.New(apierr.BadRequest, "The body could not be read.").Because(err)
	}
	return body, nil
}

// readJSON fills dst from the body.
func readJSON(r *http.Request, dst any) error { return readJSONUpTo(r, BodyBytesMax, dst) }

// readJSONUpTo fills dst from the body, which may have up to limit bytes.
func readJSONUpTo(r *http.Request, limit int64, dst any) error {
	body, err := readBody(r, limit)
	if err != nil {
		return err
	}
	return bind.JSON(body, dst)
}

// writeJSON answers 200.
func writeJSON(w http.ResponseWriter, v any) error { return writeJSONStatus(w, http.StatusOK, v) }

func writeJSONStatus(w http.ResponseWriter, status int, v any) error {
	var body bytes.Buffer
	e := json.NewEncoder(&body)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	w.Header().Set("Content-Type", "application/json")
	if w.Header().Get("Cache-Control") == "" {
		w.Header().Set("Cache-Control", "no-cache, private")
	}
	w.WriteHeader(status)
	w.Write(bytes.TrimSuffix(body.Bytes(), []byte("\n"))) //nolint:errcheck // the client has gone
	return nil
}

// writeSecret answers 200 with something that nobody may keep.
func writeSecret(w http.ResponseWriter, v any) error {
	w.Header().Set("Cache-Control", "no-store")
	return writeJSON(w, v)
}
