package listener_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"modelgate.internal/dataplane/internal/listener"
)

// TestInheritedSocket runs this test binary again as a server whose socket is opened here: a connection that is made before
// the process exists is answered by it.
func TestInheritedSocket(t *testing.T) {
	if os.Getenv("LISTENER_TEST_CHILD") != "" {
		child(t)
		return
	}
	var files []*os.File
	var addresses []string
	for range 2 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		defer l.Close()
		f, err := l.(*net.TCPListener).File() //nolint:forcetypeassert // Listen was asked for TCP
		must(t, err)
		files, addresses = append(files, f), append(addresses, l.Addr().String())
	}
	client := &http.Client{Timeout: 20 * time.Second}
	answers := make(chan string, 2)
	for _, a := range addresses {
		go func() {
			res, err := client.Get("http://" + a + "/")
			if err != nil {
				answers <- err.Error()
				return
			}
			defer res.Body.Close()
			text, _ := io.ReadAll(res.Body)
			answers <- string(text)
		}()
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestInheritedSocket$")
	cmd.Env = append(os.Environ(), "LISTENER_TEST_CHILD=1", "LISTEN_FDS=2", "LISTEN_FDNAMES=darwin:gateway")
	cmd.ExtraFiles = files
	stop, err := cmd.StdinPipe()
	must(t, err)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	must(t, cmd.Start())
	got := []string{<-answers, <-answers}
	must(t, stop.Close())
	if err := cmd.Wait(); err != nil {
		t.Errorf("child: %v: %s", err, out.String())
	}
	want := map[string]bool{"darwin on " + addresses[0]: true, "gateway on " + addresses[1]: true}
	if !want[got[0]] || !want[got[1]] {
		t.Errorf("got %q, want %v; child says %s", got, want, out.String())
	}
}

// child serves inherited sockets until its standard input ends.
func child(t *testing.T) {
	sockets, err := listener.Inherited(os.LookupEnv, "gateway", "darwin")
	must(t, err)
	for _, name := range []string{"gateway", "darwin"} {
		socket, err := sockets.Listen(context.Background(), name, "127.0.0.1:1") // opening this address would fail
		must(t, err)
		start(t, socket, 10, func(ctx *fasthttp.RequestCtx) { fmt.Fprintf(ctx, "%s on %s", name, socket.Addr()) })
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func TestSocketsOfAnotherProcessAreLeftAlone(t *testing.T) {
	env := map[string]string{"LISTEN_FDS": "1", "LISTEN_PID": "1", "LISTEN_FDNAMES": "gateway"}
	sockets, err := listener.Inherited(func(name string) (string, bool) { v, ok := env[name]; return v, ok }, "gateway")
	must(t, err)
	l, err := sockets.Listen(t.Context(), "gateway", "127.0.0.1:0")
	must(t, err)
	must(t, l.Close())
	env = map[string]string{"LISTEN_FDS": "many"}
	if _, err := listener.Inherited(func(name string) (string, bool) { v, ok := env[name]; return v, ok }); err == nil {
		t.Error("LISTEN_FDS=many is no error")
	}
}

func TestATakenAddressIsNamed(t *testing.T) {
	sockets, err := listener.Inherited(func(string) (string, bool) { return "", false })
	must(t, err)
	l, err := sockets.Listen(t.Context(), "gateway", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	_, err = sockets.Listen(t.Context(), "darwin", l.Addr().String())
	if err == nil || !strings.Contains(err.Error(), "darwin host") || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("got %v", err)
	}
}
