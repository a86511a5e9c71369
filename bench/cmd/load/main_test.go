package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
)

func TestCommand(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer k" {
			w.WriteHeader(http.StatusUnauthorized)
		}
		_, _ = io.WriteString(w, "{}")
	}))
	defer server.Close()
	t.Setenv("LOAD_TEST_KEY", "k")
	some := []string{"-url", server.URL, "-connections", "2", "-requests", "10", "-warm-up", "0", "-duration", "10s"}
	for _, tc := range []struct {
		args  []string
		code  int
		fails bool
		want  string
	}{
		{append([]string{"-bearer", "env:LOAD_TEST_KEY"}, some...), 0, false, "10 whole, by status {200: 10}"},
		{some, exitWrong, false, "{401: 10}"},
		{[]string{"-help"}, 0, false, ""},
		{[]string{"-mode", "nonsense"}, 2, false, ""},
		{[]string{"-nonsense"}, 2, false, ""},
		{[]string{"-url", "http://10.0.0.1/"}, 1, true, ""},
		{[]string{"-pid", "x=y", "-url", server.URL}, 1, true, ""},
	} {
		var out strings.Builder
		code, err := command(t.Context(), tc.args, &out, io.Discard)
		if code != tc.code || (err != nil) != tc.fails || !strings.Contains(out.String(), tc.want) {
			t.Errorf("%v: %d, %v, %s", tc.args, code, err, out.String())
		}
	}
	var out strings.Builder
	args := append([]string{"-json", "-bearer", "k", "-pid", fmt.Sprintf("self=%d", os.Getpid())}, some...)
	if _, err := command(t.Context(), args, &out, io.Discard); err != nil || !json.Valid([]byte(out.String())) || !strings.Contains(out.String(), `"cpu_us"`) {
		t.Errorf("%v: %s", err, out.String())
	}
}
