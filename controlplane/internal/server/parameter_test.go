package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	contract "modelgate.internal/shared/api"
)

// TestParametersThatAreNoTextAreNamed puts what is no text into every parameter of the contract, in paths and queries.
func TestParametersThatAreNoTextAreNamed(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	n := s.people(t)
	all, err := contract.Operations()
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, op := range all {
		if op.Plane != contract.PlaneControl {
			continue
		}
		for _, p := range operations(t)[op.ID].Parameters {
			for _, text := range []string{"%00", "a%00b", "%ff", "%ed%a0%80"} {
				address := op.Path
				switch p.Value.In {
				case "path":
					address = strings.ReplaceAll(address, "{"+p.Value.Name+"}", text)
				case "query":
					address += "?" + p.Value.Name + "=" + text
				default:
					continue
				}
				address = strings.NewReplacer("{app_id}", n["app"], "{key_id}", n["key"], "{session_id}", n["session_id"]).Replace(address)
				w := s.do(t, op.Method, address, n["session"], nil)
				documented(t, op.ID, w)
				tried++
				var said struct{ Detail []struct{ Loc []any } }
				if err := json.Unmarshal(w.Body.Bytes(), &said); err != nil || w.Code != http.StatusUnprocessableEntity || len(said.Detail) != 1 ||
					len(said.Detail[0].Loc) != 2 || said.Detail[0].Loc[0] != p.Value.In || !named(p.Value.Name, said.Detail[0].Loc[1]) {
					t.Errorf("%s %s: %d %s", op.Method, address, w.Code, w.Body)
				}
			}
		}
	}
	if tried < 200 {
		t.Errorf("only %d were tried", tried)
	}
}

// named reports whether a parameter is the one that was named. The demo's is called page where it is served.
func named(name string, as any) bool { return as == name || name == "demo_file" && as == "page" }
