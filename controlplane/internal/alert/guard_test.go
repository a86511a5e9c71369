package alert

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
)

func TestOnlyPublicAddresses(t *testing.T) {
	for text, want := range map[string]bool{
		"93.184.216.34": true, "2606:4700::1111": true, "::ffff:93.184.216.34": true,
		"127.0.0.1": false, "::1": false, "10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false, "169.254.169.254": false,
		"100.64.0.1": false, "0.0.0.0": false, "::": false, "fd00::1": false, "fe80::1": false, "224.0.0.1": false, "255.255.255.255": false,
		"::ffff:10.0.0.1": false, "::ffff:169.254.169.254": false, "64:ff9b::a00:1": false, "2002:a00:1::": false, "::7f00:1": false,
		"198.18.0.1": false, "192.0.2.1": false, "2001:db8::1": false, "fec0::1": false, "240.0.0.1": false, "fe80::1%eth0": false,
	} {
		if got := public(netip.MustParseAddr(text)); got != want {
			t.Errorf("public(%s) is %v", text, got)
		}
	}
}

func TestWhatAWebhookMayBe(t *testing.T) {
	outside, inside := &Alerts{PublicURL: "https://portal.example"}, &Alerts{PublicURL: "http://127.0.0.1:8080"}
	for text, want := range map[string]struct{ production, development bool }{
		"https://example.com/hook?a=b":   {true, true},
		"https://93.184.216.34/":         {true, true},
		"http://example.com/hook":        {},
		"https://user:pass@example.com/": {},
		"https://example.com/#part":      {},
		"https://10.0.0.1/":              {},
		"https://[fd00::1]/":             {},
		"https://[::ffff:10.0.0.1]/":     {},
		"https://169.254.169.254/latest": {},
		"http://127.0.0.1:9/hook":        {false, true},
		"http://localhost/hook":          {false, true},
		"https://[::1]/hook":             {false, true},
		"ftp://127.0.0.1/":               {},
		"file:///etc/passwd":             {},
		"/hook":                          {},
		"https://":                       {},
		"https://example.com/" + strings.Repeat("x", URLBytesMax): {},
	} {
		if got := outside.checkURL(text) == nil; got != want.production {
			t.Errorf("in production %.60s is %v", text, got)
		}
		if got := inside.checkURL(text) == nil; got != want.development {
			t.Errorf("in development %.60s is %v", text, got)
		}
	}
}

// TestTheGuardIsAtTheDial: a name that leads inside is refused when it is dialled, and no redirect is followed.
func TestTheGuardIsAtTheDial(t *testing.T) {
	var calls atomic.Int64
	inside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	}))
	defer inside.Close()
	post := func(loopback bool) (*http.Response, error) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, strings.Replace(inside.URL, "127.0.0.1", "localhost", 1), strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		return client(loopback).Do(r)
	}
	res, err := post(false)
	if err == nil {
		res.Body.Close()
	}
	if !errors.Is(err, errInside) || calls.Load() != 0 {
		t.Errorf("a name that leads inside: %v, %d calls", err, calls.Load())
	}
	if res, err = post(true); err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusTemporaryRedirect || calls.Load() != 1 {
		t.Errorf("%d, %d calls: a redirect was followed", res.StatusCode, calls.Load())
	}
}

func TestTheHighestThresholdThatIsPassedIsDue(t *testing.T) {
	for _, c := range []struct{ calls, limit, told, want int64 }{
		{49, 100, 0, 0},
		{50, 100, 0, 50},
		{79, 100, 50, 0},
		{80, 100, 50, 80},
		{100, 100, 0, 100},
		{250, 100, 100, 0},
		{1, 3, 0, 0},
		{2, 3, 0, 50},
		{5, 0, 0, 0},
		{5, -1, 0, 0},
		{1 << 61, 1 << 62, 0, 50},
	} {
		u := Usage{Settings: Settings{Thresholds: Thresholds()}, Calls: c.calls, Limit: c.limit, Told: c.told}
		if got := due(u); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
	if got := due(Usage{Settings: Settings{Thresholds: []int64{80}}, Calls: 60, Limit: 100}); got != 0 {
		t.Errorf("a threshold that nobody asked for: %d", got)
	}
}
