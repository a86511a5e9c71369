package gateway_test

import (
	"fmt"
	"strings"
	"testing"

	"modelgate.internal/dataplane/internal/api"
	"modelgate.internal/dataplane/internal/gateway"
	contract "modelgate.internal/shared/api"
)

// TestEveryOperationIsServed asks every operation of the contract that is the data plane's: one that is marked as planned
// answers 501, one that is not never does, on the hosts that the routes say.
func TestEveryOperationIsServed(t *testing.T) {
	n := start(t, nil)
	all, err := operations()
	must(t, err)
	onDarwin := map[string]bool{}
	for _, r := range gateway.Routes(&api.API{}) {
		onDarwin[r.ID] = r.Darwin
	}
	// Of those that need no key: what they make of an empty body and of a configuration without their server.
	open := map[string]string{"health": "200", "publicTranslate": "422", "publicTranslateLanguages": "503"}
	served := 0
	for _, o := range all {
		if o.Plane != contract.PlaneData {
			continue
		}
		served++
		path := strings.NewReplacer("{skill_name}", "create_pdf", "{job_id}", "job_1").Replace(o.Path)
		request := o.Method + " " + path + " HTTP/1.1\r\nHost: gateway\r\nContent-Length: 0\r\n\r\n"
		status := func(address string) string {
			line, _, _ := strings.Cut(string(receive(t, send(t, address, request), o.Method)), "\r\n")
			return strings.Fields(line)[1]
		}
		got, want := status(n.main), "501"
		if !o.Planned {
			want = "401"
			if len(o.Security) == 0 {
				want = open[o.ID]
			}
		}
		if got != want {
			t.Errorf("%s %s: %s, want %s", o.Method, path, got, want)
		}
		if got := status(n.darwin); (got != "404") != onDarwin[o.ID] {
			t.Errorf("%s %s on the Darwin host: %s", o.Method, path, got)
		}
	}
	if served == 0 {
		t.Error("the contract has no operation of this plane")
	}
}

func TestRoutesAndMarksMustAgree(t *testing.T) {
	operation := func(id string, planned bool) contract.Operation {
		return contract.Operation{Method: "GET", Path: "/" + id, ID: id, Plane: contract.PlaneData, Planned: planned}
	}
	route := gateway.Route{ID: "a", Handle: (&api.API{}).Health}
	for i, tt := range []struct {
		operations []contract.Operation
		routes     []gateway.Route
		ok         bool
	}{
		{[]contract.Operation{operation("a", false), operation("b", true)}, []gateway.Route{route}, true},
		{[]contract.Operation{operation("a", true)}, []gateway.Route{route}, false},
		{[]contract.Operation{operation("a", false), operation("b", false)}, []gateway.Route{route}, false},
		{nil, []gateway.Route{route}, false},
	} {
		if _, err := gateway.New(gateway.Options{Operations: tt.operations, Routes: tt.routes}); (err == nil) != tt.ok {
			t.Errorf("case %d: %v", i, err)
		}
	}
}

func TestNoRequestMakesASeries(t *testing.T) {
	n := start(t, nil)
	series := func() (count int) {
		families, err := n.reg.Gather()
		must(t, err)
		for _, f := range families {
			count += len(f.GetMetric())
		}
		return count
	}
	junk := func(i int) {
		_ = receive(t, send(t, n.main, post("/api/v1/agent", "svc_live_ok", fmt.Sprintf(`{"prompt":"a","model":"junk-%d"}`, i))), "POST")
		_ = receive(t, send(t, n.main, post("/api/v1/generate", "svc_test_ok", fmt.Sprintf(`{"prompt":"a","task":"junk-%d"}`, i))), "POST")
		_ = receive(t, send(t, n.main, fmt.Sprintf("GET /junk-%d HTTP/1.1\r\nHost: g\r\nX-Request-Id: junk-%d\r\n\r\n", i, i)), "GET")
	}
	junk(0)
	before := series()
	for i := range 10 {
		junk(i + 1)
	}
	if after := series(); after != before {
		t.Errorf("%d series, before %d", after, before)
	}
}
