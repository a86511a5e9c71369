package gateway_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"modelgate.internal/dataplane/internal/gateway"
	"modelgate.internal/shared/obs"
)

func TestCanonicalLine(t *testing.T) {
	var out bytes.Buffer
	lines := obs.NewLines(&out)
	n := start(t, func(o *gateway.Options) {
		var err error
		o.Calls, err = lines.Canon("info", "json", "request")
		must(t, err)
	})
	const always = "end level msg operation request_id status time took"
	const caller = "app_id key_id"
	const model = "attempts model task tokens_in tokens_out upstream waited"
	const limits = "limit limit_remaining"
	for _, c := range []struct {
		name, request, status string
		keys                  []string
		has                   string
	}{
		{"answered", ask("svc_test_ok", "hi", false), "200", []string{always, caller, model, limits}, `"end":"done"`},
		{"streamed", ask("svc_test_ok", "hi", true), "200", []string{always, caller, model, limits, "ttft"}, `"end":"done"`},
		{"bad body", post("/api/v1/agent", "svc_test_ok", `{"prompt":""}`), "400", []string{always, caller, limits, "error"}, `"operation":"agent"`},
		{"unknown path", "GET /no%22where HTTP/1.1\r\nHost: h\r\n\r\n", "404", []string{always, "method path error"}, `"path":"/no\"where"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			out.Reset()
			if answer := string(receive(t, send(t, n.main, c.request), "POST")); !strings.HasPrefix(answer, "HTTP/1.1 "+c.status) {
				t.Fatalf("got %s", answer)
			}
			must(t, lines.Flush())
			if strings.Count(out.String(), "\n") != 1 || !strings.Contains(out.String(), c.has) {
				t.Errorf("not one line with %s: %s", c.has, out.String())
			}
			var line map[string]any
			must(t, json.Unmarshal(out.Bytes(), &line))
			want := strings.Fields(strings.Join(c.keys, " "))
			slices.Sort(want)
			if got := slices.Sorted(maps.Keys(line)); !slices.Equal(got, want) {
				t.Errorf("got  %v\nwant %v", got, want)
			}
		})
	}
}
