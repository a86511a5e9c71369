package server_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"modelgate.internal/controlplane/internal/api"
	"modelgate.internal/controlplane/internal/catalog"
)

// imageText is what the image of the transcripts holds.
const imageText = "0123456789abcdef\n"

// images are those of the transcripts: a file, an older one, one that is elsewhere, one without a location, one that has gone.
func images(t *testing.T) *catalog.Images {
	t.Helper()
	file := filepath.Join(t.TempDir(), "modelgate-rpi4.img.xz")
	if err := os.WriteFile(file, []byte(imageText), 0o600); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(imageText))
	list, err := catalog.NewImages([]catalog.Image{
		{Target: "rpi4", Version: "0.1.0", Name: "Raspberry Pi 4", ReleasedAt: time.Unix(1e9, 0)},
		{
			Target: "rpi4", Version: "0.2.0", Name: "Raspberry Pi 4", Location: file, SHA256: hex.EncodeToString(sum[:]),
			ReleasedAt: time.Unix(1.1e9, 0),
		},
		{Target: "jetson", Version: "0.2.0+a", Location: "https://images.example/jetson.img?build=7", SizeBytes: 1 << 30},
		{Target: "esp32", Version: "0.2.0"},
		{Target: "gone", Version: "1", Location: file + ".gone"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestASlowDownloadOutlastsTheServersTimeout: what holds for answers that are made at once must not cut a long one.
func TestASlowDownloadOutlastsTheServersTimeout(t *testing.T) {
	t.Parallel()
	const size, limit = 8 << 20, 200 * time.Millisecond
	file := filepath.Join(t.TempDir(), "big.img")
	content := bytes.Repeat([]byte("modelgate"), size/9)
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	s := newStack(t)
	var err error
	if s.api.Images, err = catalog.NewImages([]catalog.Image{{Target: "big", Version: "1", Location: file}}); err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(s)
	srv.Config.WriteTimeout = limit
	srv.Start()
	defer srv.Close()
	res := get(t.Context(), t, srv.URL+"/dev/download/image/big")
	defer res.Body.Close()
	time.Sleep(3 * limit)
	got, err := io.ReadAll(res.Body)
	if err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d of %d bytes: %v", len(got), len(content), err)
	}
}

// TestDownloadsAreCounted: one more than may be is refused, and a finished one makes room.
func TestDownloadsAreCounted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "big.img")
	if err := os.WriteFile(file, make([]byte, 16<<20), 0o600); err != nil { // more than sockets hold
		t.Fatal(err)
	}
	s := newStack(t)
	var err error
	if s.api.Images, err = catalog.NewImages([]catalog.Image{{Target: "big", Version: "1", Location: file}}); err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(s)
	defer srv.Close()
	var open []*http.Response
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	for range api.DownloadsMax {
		open = append(open, get(ctx, t, srv.URL+"/dev/download/image/big"))
	}
	res := get(ctx, t, srv.URL+"/dev/download/image/big")
	body, _ := io.ReadAll(res.Body)
	res.Body.Close()
	if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" {
		t.Errorf("one too many: %d %s", res.StatusCode, body)
	}
	stop()
	for _, res := range open {
		res.Body.Close()
	}
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		res := get(t.Context(), t, srv.URL+"/dev/download/image/big")
		res.Body.Close()
		if res.StatusCode == http.StatusOK {
			return
		}
		if time.Now().After(end) {
			t.Fatal("downloads that have ended still count")
		}
	}
}

func get(ctx context.Context, t *testing.T, url string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// TestNoPathLeadsOutOfTheImages: names are compared, so nothing that looks like a path finds a file.
func TestNoPathLeadsOutOfTheImages(t *testing.T) {
	s := newStack(t)
	for _, target := range []string{
		"..", "../../etc/passwd", "..%2f..%2fetc%2fpasswd", "%2fetc%2fpasswd", "rpi4%2f..%2frpi4", "rpi4%00", ".", "modelgate-rpi4.img.xz", "rpi4/..",
	} {
		w := s.do(t, "GET", "/dev/download/image/"+target+"?version=..%2F..%2Fetc%2Fpasswd", "", nil)
		if w.Code/100 == 2 || strings.Contains(w.Body.String(), "root:") || strings.Contains(w.Body.String(), os.TempDir()) {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
	}
}

// TestCatalogHoldsNothingOfTheUpstreams: where models are served from is not for the public.
func TestCatalogHoldsNothingOfTheUpstreams(t *testing.T) {
	w := newStack(t).do(t, "GET", "/dev/catalog", "", nil)
	if w.Code != http.StatusOK || strings.Contains(strings.ToLower(w.Body.String()), "secret") {
		t.Error(fmt.Sprint(w.Code, w.Body))
	}
}
