package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"modelgate.internal/shared/stripesim"
)

const headerTimeout = 5 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stderr)
	stop()
	os.Exit(code)
}

// run is main without the process: it returns the exit status.
func run(ctx context.Context, args []string, stderr io.Writer) int {
	f := flag.NewFlagSet("stripesim", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Usage = func() {
		fmt.Fprint(stderr, "stripesim simulates Stripe: nobody pays.\n\nFlags:\n")
		f.PrintDefaults()
	}
	listen := f.String("listen", "127.0.0.1:8089", "loopback `address` of the interface and the pages")
	webhook := f.String("webhook", "", "`address` that notifications go to")
	secret := f.String("secret-file", "", "`file` with what signs the notifications")
	switch err := f.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2 // the flag package has said why
	case f.NArg() > 0:
		fmt.Fprintf(stderr, "stripesim: unexpected argument %q\n", f.Arg(0))
		return 2
	}
	if err := serve(ctx, *listen, *webhook, *secret, stderr); err != nil {
		fmt.Fprintln(stderr, "stripesim:", err)
		return 1
	}
	return 0
}

// serve runs the simulator until ctx ends or it fails.
func serve(ctx context.Context, listen, webhook, secretFile string, stderr io.Writer) error {
	secret := ""
	if secretFile != "" {
		text, err := os.ReadFile(secretFile)
		if err != nil {
			return fmt.Errorf("read the secret: %w", err)
		}
		secret = strings.TrimSpace(string(text))
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listen)
	if err != nil {
		return err
	}
	if at, ok := l.Addr().(*net.TCPAddr); !ok || !at.IP.IsLoopback() {
		_ = l.Close()
		return fmt.Errorf("%s is not a loopback address, and the simulator asks nobody who they are", listen)
	}
	sim := stripesim.New(stripesim.Config{URL: "http://" + l.Addr().String(), WebhookURL: webhook, Secret: secret})
	srv := &http.Server{Handler: sim, ReadHeaderTimeout: headerTimeout}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(l) }()
	fmt.Fprintf(stderr, "simulator of Stripe ready, nobody pays: http://%s\n", l.Addr())
	select {
	case <-ctx.Done():
		err = nil
	case err = <-failed:
	}
	return errors.Join(err, srv.Close())
}
