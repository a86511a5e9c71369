package upstream

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"modelgate.internal/dataplane/internal/upstream/transport"
	"modelgate.internal/shared/plane"
)

// Timeouts bound the parts of a call. Zero means the default.
type Timeouts struct {
	Connect time.Duration // dialing and the TLS handshake; 5 s
	Head    time.Duration // of a stream: from the request being sent to the end of the answer's head; 60 s
	First   time.Duration // of a stream: from the head to the first event; 60 s
	Idle    time.Duration // of a stream: between two events; comments do not count; 60 s
	Answer  time.Duration // of a whole answer, which comes only when the model has finished: from the request being sent to its last byte; 5 min
	Total   time.Duration // a whole call; 30 min
}

func (t Timeouts) withDefaults() Timeouts {
	for _, d := range []struct {
		value   *time.Duration
		replace time.Duration
	}{
		{&t.Connect, connectDefault},
		{&t.Head, headDefault},
		{&t.First, firstDefault},
		{&t.Idle, idleDefault},
		{&t.Answer, answerDefault},
		{&t.Total, totalDefault},
	} {
		if *d.value == 0 {
			*d.value = d.replace
		}
	}
	return t
}

// Results of a call, for the observer.
const (
	ResultDone        = "done"        // the whole answer came
	ResultRefused     = "refused"     // the upstream answered with an error
	ResultUnreachable = "unreachable" // no connection, or it broke before the answer
	ResultBusy        = "busy"        // as many connections as allowed are in use
	ResultTimeout     = "timeout"     // a deadline passed
	ResultInvalid     = "invalid"     // the answer is not what the dialect allows
	ResultCut         = "cut"         // the answer broke off
	ResultCancelled   = "cancelled"   // the caller's context ended, or a stream was closed without being read
)

// Observer is told about every call, for metrics. Functions may be nil, are called from many goroutines and must not
// block. The first argument is the ID of the upstream.
type Observer struct {
	InFlight func(upstream string, delta int)                  // +1 when a call begins, -1 when it ends
	First    func(upstream string, after time.Duration)        // the first text of a stream is ready
	Ended    func(upstream, result string, took time.Duration) // once for every call, with one of the Result words
	Panicked func(value any, stack []byte)                     // a goroutine that belongs to no call panicked
}

// Options configure the upstreams of a node. Zero values mean the defaults.
type Options struct {
	Timeouts  Timeouts
	KeepAlive time.Duration // silence towards the client before a comment; 0 sends none
	Observer  Observer
	Now       func() time.Time // nil means time.Now

	Connections int           // cap on connections per upstream, idle and busy
	Idle        int           // cap on idle connections per upstream
	IdleAge     time.Duration // after which an idle connection is closed

	TLS  *tls.Config // for https upstreams: roots and client certificates; nil means the system's
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// New returns the chat server for spec. The credential is sent as a bearer token unless it is empty. The error says what is
// wrong with the spec; it repeats neither credential nor address.
func New(spec plane.UpstreamSpec, credential string, o Options) (*ChatServer, error) {
	if spec.Dialect != plane.DialectChat {
		return nil, fmt.Errorf("upstream %q: the dialect %q is not %q", spec.ID, spec.Dialect, plane.DialectChat)
	}
	if spec.Model == "" {
		return nil, fmt.Errorf("upstream %q: no model name", spec.ID)
	}
	s, err := prepare(spec, credential, o)
	if err != nil {
		return nil, err
	}
	return &ChatServer{server: s, requests: newRequests(spec, s.base, credential)}, nil
}

// prepare checks what all dialects need.
func prepare(spec plane.UpstreamSpec, credential string, o Options) (server, error) {
	base, err := parseBase(spec.BaseURL)
	if err != nil {
		return server{}, fmt.Errorf("upstream %q: %w", spec.ID, err)
	}
	if len(credential) > credentialBytesMax || strings.ContainsFunc(credential, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return server{}, fmt.Errorf("upstream %q: the credential %q has characters that cannot be sent", spec.ID, spec.Credential)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return newServer(spec, base, credential, o), nil
}

// base is where an upstream is.
type base struct {
	secure  bool
	host    string // as in the Host field
	name    string // without the port
	address string // with the port
	path    string
}

func parseBase(text string) (base, error) {
	u, err := url.Parse(text)
	if err != nil {
		return base{}, errors.New("base_url is not a URL")
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return base{}, errors.New("base_url must start with http:// or https://")
	}
	if u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || u.Opaque != "" {
		return base{}, errors.New("base_url must have a host and neither user, query nor fragment")
	}
	b := base{secure: u.Scheme == "https", host: u.Host, name: u.Hostname(), path: strings.TrimRight(u.EscapedPath(), "/")}
	port := u.Port()
	if port == "" {
		port = map[bool]string{false: "80", true: "443"}[b.secure]
		b.host = strings.TrimSuffix(b.host, ":")
	}
	b.address = net.JoinHostPort(b.name, port)
	return b, nil
}

// newHost returns the connections to b.
func newHost(b base, o Options) *transport.Host {
	t := transport.Options{
		Address: b.address, Connections: o.Connections, Idle: o.Idle, IdleAge: o.IdleAge, Dial: o.Dial,
		Panicked: o.Observer.Panicked,
	}
	if b.secure {
		t.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
		if o.TLS != nil {
			t.TLS = o.TLS.Clone()
			t.TLS.MinVersion = max(t.TLS.MinVersion, tls.VersionTLS12)
		}
		t.TLS.NextProtos = []string{"http/1.1"}
		if t.TLS.ServerName == "" {
			t.TLS.ServerName = b.name
		}
	}
	return transport.NewHost(t)
}
