package upstream

import (
	"errors"
	"testing"

	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
)

func TestSetFollowsTheConfiguration(t *testing.T) {
	secrets := 0
	set := NewSet(Options{}, func(name string) (string, error) {
		secrets++
		if name != "known" {
			return "", errors.New("no such credential")
		}
		return "sesame", nil
	})
	spec := func(model, credential string) plane.UpstreamSpec {
		return plane.UpstreamSpec{ID: "a", Dialect: plane.DialectChat, BaseURL: "http://127.0.0.1:1/v1", Model: model, Credential: credential}
	}
	current := func(version uint64, s plane.UpstreamSpec) *plane.Current {
		return &plane.Current{Cursor: plane.Cursor{Epoch: 1, Version: plane.Version(version)}, Upstreams: map[string]plane.UpstreamSpec{"a": s}}
	}
	one := current(1, spec("m", "known"))
	first, err := set.Get(one, "a")
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := set.Get(one, "a"); again != first || secrets != 1 {
		t.Errorf("built again, %d secrets read", secrets)
	}
	if same, _ := set.Get(current(2, spec("m", "known")), "a"); same != first {
		t.Error("built again although the spec is the same")
	}
	two := current(3, spec("n", "known"))
	second, err := set.Get(two, "a")
	if err != nil || second == first || len(set.members) != 1 {
		t.Fatalf("%v, %d members", err, len(set.members))
	}
	if late, err := set.Get(one, "a"); err != nil || late == second {
		t.Errorf("a call with the old configuration got the new upstream, %v", err)
	}
	if again, _ := set.Get(two, "a"); again != second {
		t.Error("an old call replaced the new upstream")
	}
	_, err = set.Get(two, "b")
	if e := apierr.From(err); e.Kind != apierr.Unavailable || e.Detail != "Upstream b is not configured." {
		t.Errorf("got %v", err)
	}
	_, err = set.Get(current(4, spec("m", "unknown")), "a")
	if e := apierr.From(err); e.Kind != apierr.Unavailable || e.Detail != "Upstream a is misconfigured. This is for the gateway's operator to fix." {
		t.Errorf("got %v", err)
	}
	if len(set.members) != 0 {
		t.Errorf("%d members", len(set.members))
	}
	set.Close()
}

func TestReplacingAnUpstreamLetsItsStreamsEnd(t *testing.T) {
	more := make(chan struct{})
	up, script := newScript(t, Options{}, func(a *act) {
		a.events()
		a.chunk(delta("a"))
		<-more
		a.chunk(delta("b") + tail)
		a.end()
	})
	s, err := up.Open(t.Context(), hello)
	if err != nil {
		t.Fatal(err)
	}
	up.Close()
	close(more)
	got := relayed(t, s)
	if got.text != "ab" || got.outcome.End != plane.EndDone {
		t.Errorf("got %+v", got)
	}
	script.awaitClosed()
	if got := listen(t, t.Context(), up, hello); got.text != "ab" {
		t.Errorf("a call that was on its way to a replaced upstream got %+v", got)
	}
	script.awaitClosed()
}

func TestNewRefuses(t *testing.T) {
	good := plane.UpstreamSpec{ID: "a", Dialect: plane.DialectChat, BaseURL: "https://api.example.com/v1/", Model: "m"}
	if up, err := New(good, "", Options{}); err != nil || up.base.address != "api.example.com:443" || up.base.path != "/v1" {
		t.Errorf("%+v, %v", up, err)
	}
	for name, change := range map[string]func(s *plane.UpstreamSpec) string{
		"dialect":          func(s *plane.UpstreamSpec) string { s.Dialect = "native"; return "" },
		"no model":         func(s *plane.UpstreamSpec) string { s.Model = ""; return "" },
		"scheme":           func(s *plane.UpstreamSpec) string { s.BaseURL = "ftp://x/v1"; return "" },
		"no scheme":        func(s *plane.UpstreamSpec) string { s.BaseURL = "localhost:8000/v1"; return "" },
		"no host":          func(s *plane.UpstreamSpec) string { s.BaseURL = "http:///v1"; return "" },
		"query":            func(s *plane.UpstreamSpec) string { s.BaseURL += "?a=b"; return "" },
		"empty query":      func(s *plane.UpstreamSpec) string { s.BaseURL += "?"; return "" },
		"fragment":         func(s *plane.UpstreamSpec) string { s.BaseURL += "#a"; return "" },
		"user":             func(s *plane.UpstreamSpec) string { s.BaseURL = "http://u:p@x/v1"; return "" },
		"line break":       func(s *plane.UpstreamSpec) string { s.BaseURL = "http://x/v1\r\nX: y"; return "" },
		"line in the key":  func(*plane.UpstreamSpec) string { return "a\r\nX: y" },
		"space in the key": func(*plane.UpstreamSpec) string { return "a b" },
	} {
		spec := good
		credential := change(&spec)
		if _, err := New(spec, credential, Options{}); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}
