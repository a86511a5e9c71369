package server_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	contract "modelgate.internal/shared/api"
)

// TestAllowIsWhatAnswers asks every path of the contract with every method: those that a 405 names are those that answer.
func TestAllowIsWhatAnswers(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	all, err := contract.Operations()
	if err != nil {
		t.Fatal(err)
	}
	paths := []string{"/dev/nothing", "/dev/apps/x/nothing", "/nothing"}
	documented := map[string][]string{}
	for _, op := range all {
		if op.Plane == contract.PlaneControl {
			path := regexp.MustCompile(`{[a-z_]+}`).ReplaceAllString(op.Path, "x")
			if !slices.Contains(paths, path) {
				paths = append(paths, path)
			}
			documented[path] = append(documented[path], op.Method)
			if op.Method == http.MethodGet {
				documented[path] = append(documented[path], http.MethodHead)
			}
		}
	}
	for _, path := range paths {
		var answer []string
		for _, method := range []string{"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"} {
			w := s.do(t, method, path, "", nil)
			allow := w.Header().Get("Allow")
			nothing := w.Code == http.StatusNotFound && strings.Contains(w.Body.String(), "nothing at this address")
			switch {
			case nothing && len(documented[path]) > 0:
				t.Errorf("%s %s: 404, and the contract has %v", method, path, documented[path])
			case w.Code == http.StatusMethodNotAllowed:
				if want := documented[path]; !same(strings.Split(allow, ", "), want) {
					t.Errorf("%s %s: Allow is %q, the contract has %v", method, path, allow, want)
				}
			case !nothing:
				answer = append(answer, method)
			}
		}
		if !same(answer, documented[path]) {
			t.Errorf("%s: %v answer, the contract has %v", path, answer, documented[path])
		}
	}
}

func same(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}
