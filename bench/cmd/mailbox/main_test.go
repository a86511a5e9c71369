package main

import (
	"strings"
	"testing"
)

func TestOnlyLoopback(t *testing.T) {
	var out strings.Builder
	if code := run(t.Context(), []string{"-smtp", "0.0.0.0:0"}, &out); code != 1 || !strings.Contains(out.String(), "not a loopback address") {
		t.Errorf("status %d: %s", code, out.String())
	}
}

func TestWrongFlags(t *testing.T) {
	var out strings.Builder
	for _, args := range [][]string{{"-nonsense"}, {"more"}} {
		if code := run(t.Context(), args, &out); code != 2 {
			t.Errorf("%v: status %d", args, code)
		}
	}
}
