package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// output is a log that may be read while it is written.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

func TestFlags(t *testing.T) {
	for _, tc := range []struct {
		args        []string
		code        int
		out, errOut string
	}{
		{[]string{"--help"}, 0, "", "-token-delay"},
		{[]string{"-scenarios"}, 0, "cut-after", ""},
		{[]string{"-nonsense"}, 2, "", "not defined"},
		{[]string{"extra"}, 2, "", "unexpected argument"},
		{[]string{"-script", "/does/not/exist"}, 1, "", "no such file"},
		{[]string{"-model", "a,,b"}, 1, "", "needs a name"},
	} {
		var out, errOut output
		if code := run(t.Context(), tc.args, &out, &errOut); code != tc.code || !strings.Contains(out.String(), tc.out) || !strings.Contains(errOut.String(), tc.errOut) {
			t.Errorf("%v: %d, %q, %q", tc.args, code, out.String(), errOut.String())
		}
	}
}

func TestPortTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var errOut output
	if code := run(t.Context(), []string{"-listen", l.Addr().String()}, io.Discard, &errOut); code != 1 || !strings.Contains(errOut.String(), "address already in use") {
		t.Errorf("%d, %q", code, errOut.String())
	}
}

func TestServesUntilToldToStop(t *testing.T) {
	file := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(file, []byte("broken status code=503\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{"-fast=false", "-fast=true"} {
		var errOut output
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan int, 1)
		go func() {
			ended <- run(ctx, []string{"-listen", "127.0.0.1:0", "-script", file, mode}, io.Discard, &errOut)
		}()
		base := ""
		for until := time.Now().Add(10 * time.Second); base == "" && time.Now().Before(until); time.Sleep(time.Millisecond) {
			_, after, _ := strings.Cut(errOut.String(), "base_url=")
			base, _, _ = strings.Cut(after, " ")
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/models", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || !strings.Contains(string(body), `"broken"`) {
			t.Errorf("%s: models are %s, %v", mode, body, err)
		}
		begin := time.Now()
		cancel()
		if code := <-ended; code != 0 || time.Since(begin) > 30*time.Second {
			t.Errorf("%s: ended with %d after %s", mode, code, time.Since(begin))
		}
	}
}
