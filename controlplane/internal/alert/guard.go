package alert

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"syscall"
)

// errInside says that a webhook leads to an address that is not public.
var errInside = errors.New("its address is not public")

// checkURL judges the address of a webhook by what is written there; what its name leads to is judged when it is dialled.
func (a *Alerts) checkURL(text string) error {
	bad := func(what string) error { return invalid("webhook_url", what, text) }
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || len(text) > URLBytesMax {
		return bad("it must be the absolute address of a web server, as https://example.com/alerts")
	}
	if u.User != nil || u.Fragment != "" {
		return bad("it must have no user, password or fragment")
	}
	inside := loopbackHost(u.Hostname())
	if inside && a.development() && (u.Scheme == "http" || u.Scheme == "https") {
		return nil
	}
	if u.Scheme != "https" {
		return bad("it must begin with https://")
	}
	ip, err := netip.ParseAddr(u.Hostname())
	if inside || err == nil && !public(ip) {
		return bad("it must not lead to a private address")
	}
	return nil
}

// development reports whether the portal itself is served from loopback.
func (a *Alerts) development() bool {
	u, err := url.Parse(a.PublicURL)
	return err == nil && loopbackHost(u.Hostname())
}

func loopbackHost(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// client sends to public addresses only; with loopback, to loopback as well.
func client(loopback bool) *http.Client {
	dialer := net.Dialer{Timeout: DialTimeout, Control: func(_, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return errInside
		}
		if ip := to.Addr().Unmap(); !public(ip) && (!loopback || !ip.IsLoopback()) {
			return errInside
		}
		return nil
	}}
	return &http.Client{
		Timeout:       SendTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext: dialer.DialContext, TLSHandshakeTimeout: DialTimeout, MaxResponseHeaderBytes: AnswerHeadBytes, DisableKeepAlives: true,
			ForceAttemptHTTP2: true,
		},
	}
}

// public reports whether an address is one of the internet at large. What the standard library does not know is from the registries of
// special-purpose addresses (RFC 6890); addresses that carry an IPv4 address inside are refused whatever it is.
func public(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	return ip.IsGlobalUnicast() && !ip.IsPrivate() && !slices.ContainsFunc(special(), func(p netip.Prefix) bool { return p.Contains(ip) })
}

func special() []netip.Prefix {
	return []netip.Prefix{
		netip.MustParsePrefix("0.0.0.0/8"),       // this network
		netip.MustParsePrefix("100.64.0.0/10"),   // carriers' translation
		netip.MustParsePrefix("192.0.0.0/24"),    // protocol assignments
		netip.MustParsePrefix("192.0.2.0/24"),    // documentation
		netip.MustParsePrefix("198.18.0.0/15"),   // benchmarks
		netip.MustParsePrefix("198.51.100.0/24"), // documentation
		netip.MustParsePrefix("203.0.113.0/24"),  // documentation
		netip.MustParsePrefix("240.0.0.0/4"),     // reserved
		netip.MustParsePrefix("::/96"),           // IPv4-compatible
		netip.MustParsePrefix("64:ff9b::/96"),    // translation to IPv4
		netip.MustParsePrefix("64:ff9b:1::/48"),  // translation to IPv4
		netip.MustParsePrefix("100::/64"),        // discard
		netip.MustParsePrefix("2001::/23"),       // protocol assignments, Teredo among them
		netip.MustParsePrefix("2001:db8::/32"),   // documentation
		netip.MustParsePrefix("2002::/16"),       // 6to4
		netip.MustParsePrefix("fec0::/10"),       // site-local
	}
}
