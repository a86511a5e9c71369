package server_test

import (
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"modelgate.internal/controlplane/internal/counter"
	"modelgate.internal/shared/testkit"
	"modelgate.internal/shared/wire"
)

// TestWireMetricsRefused: what an operator has not allowed, and what comes too fast.
func TestWireMetricsRefused(t *testing.T) {
	s := newStack(t)
	s.api.Counters.Admin = false
	testkit.Transcripts(t, "testdata/closed", func(t *testing.T, request []byte) []byte { return s.exchange(t, request, names{}) })
	s.api.Counters.Admin = true
	still := time.Now()
	*s.api.CounterReads = *counter.NewPace(func() time.Time { return still }, "requests", counter.Network, 2, 1)
	*s.api.CounterWrites = *counter.NewPace(func() time.Time { return still }, "requests", counter.Network, 2, 1)
	testkit.Transcripts(t, "testdata/limited", func(t *testing.T, request []byte) []byte { return s.exchange(t, request, names{}) })
}

// TestCountingTogether: two replicas on one database lose no count.
func TestCountingTogether(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	other := &counter.Counters{Store: s.store, Now: time.Now}
	const each, workers = 25, 4
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for range each {
				if w := s.do(t, "POST", "/api/developer/track", "", `{"event":"both"}`); w.Code != http.StatusOK {
					t.Errorf("%d %s", w.Code, w.Body)
				}
				if _, err := other.Track(t.Context(), "both"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		t.Log(s.log.String())
	}
	if got := must[wire.Metrics](t, s, "GET", "/api/developer/metrics", "", nil).Events["both"]; got != 2*each*workers {
		t.Errorf("counted %d of %d", got, 2*each*workers)
	}
}

// TestBadgeIsAnImageByItself: it is XML, says what it should and needs nothing that its policy forbids.
func TestBadgeIsAnImageByItself(t *testing.T) {
	s := newStack(t)
	w := s.do(t, "GET", "/api/developer/embed/badge.svg?event=page_view", "", nil)
	d := xml.NewDecoder(w.Body)
	d.Strict = true
	var text strings.Builder
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			if e.Name.Space != "http://www.w3.org/2000/svg" || e.Name.Local == "script" || e.Name.Local == "style" || e.Name.Local == "a" {
				t.Errorf("element %v", e.Name)
			}
			for _, a := range e.Attr {
				if a.Name.Local == "style" || strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "href" {
					t.Errorf("attribute %s", a.Name.Local)
				}
			}
		case xml.CharData:
			text.WriteString(string(e) + "|")
		}
	}
	if text.String() != "Page views: 0|Page views|0|" {
		t.Errorf("text %q", text.String())
	}
	if policy := w.Header().Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'") {
		t.Errorf("policy %s", policy)
	}
	if w.Header().Get("Cross-Origin-Resource-Policy") != "cross-origin" {
		t.Error("pages of other origins may not show it")
	}
}

// TestScriptFitsAPolicy: nothing in it needs more than script-src and connect-src.
func TestScriptFitsAPolicy(t *testing.T) {
	w := newStack(t).do(t, "GET", "/api/developer/embed/metrics.js", "", nil)
	script := w.Body.String()
	for _, needs := range []string{"eval", "Function(", "innerHTML", "outerHTML", "document.write", "insertAdjacentHTML", ".style", "setAttribute", "localStorage", "cookie ="} {
		if strings.Contains(script, needs) {
			t.Errorf("the script uses %s", needs)
		}
	}
	if !strings.Contains(script, `call("track"`) || w.Header().Get("Content-Type") != "text/javascript; charset=utf-8" {
		t.Errorf("%v", w.Header())
	}
}
