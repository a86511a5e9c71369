package load

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// Target is what to send and where. Make one with NewTarget.
type Target struct {
	address string
	request []byte
}

// NewTarget prepares a POST of a JSON body to an http URL on loopback. The headers are whole lines without their ends, as
// "Authorization: Bearer x".
func NewTarget(rawURL string, headers []string, body []byte) (Target, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return Target{}, fmt.Errorf("read the target: %w", err)
	}
	if u.Scheme != "http" {
		return Target{}, fmt.Errorf("target %s: only http is spoken", rawURL)
	}
	address, err := loopback(u)
	if err != nil {
		return Target{}, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "POST %s HTTP/1.1\r\nHost: %s\r\n", u.RequestURI(), u.Host)
	for _, h := range headers {
		name, _, ok := strings.Cut(h, ":")
		if !ok || name == "" || strings.ContainsAny(h, "\r\n") {
			return Target{}, fmt.Errorf("header %q is not of the form NAME: VALUE", name)
		}
		b.WriteString(h + "\r\n")
	}
	b.WriteString("Content-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n")
	return Target{address: address, request: append([]byte(b.String()), body...)}, nil
}

// loopback gives the address of a URL, if that is on this machine. A name other than localhost could mean anything.
func loopback(u *url.URL) (string, error) {
	host, port := u.Hostname(), u.Port()
	if port == "" {
		port = "80"
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	ip, err := netip.ParseAddr(host)
	if err != nil || !ip.Unmap().IsLoopback() {
		return "", errors.New("target " + u.Host + " is refused: load is made on loopback addresses only")
	}
	return net.JoinHostPort(ip.String(), port), nil
}
