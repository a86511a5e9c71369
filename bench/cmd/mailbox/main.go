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
	"syscall"
	"time"

	"modelgate.internal/bench/internal/mailbox"
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
	f := flag.NewFlagSet("mailbox", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Usage = func() {
		fmt.Fprint(stderr, "mailbox is a development mailbox: it takes every mail, delivers none, and shows them on a page.\n\nFlags:\n")
		f.PrintDefaults()
	}
	mails := f.String("smtp", "127.0.0.1:8087", "loopback `address` that takes mails")
	pages := f.String("listen", "127.0.0.1:8088", "loopback `address` of the pages")
	switch err := f.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2 // the flag package has said why
	case f.NArg() > 0:
		fmt.Fprintf(stderr, "mailbox: unexpected argument %q\n", f.Arg(0))
		return 2
	}
	if err := serve(ctx, *mails, *pages, stderr); err != nil {
		fmt.Fprintln(stderr, "mailbox:", err)
		return 1
	}
	return 0
}

// serve runs both servers until ctx ends or one of them fails.
func serve(ctx context.Context, mails, pages string, stderr io.Writer) error {
	box := &mailbox.Box{}
	in, err := loopback(ctx, mails)
	if err != nil {
		return err
	}
	out, err := loopback(ctx, pages)
	if err != nil {
		_ = in.Close()
		return err
	}
	smtp := mailbox.SMTP(box)
	web := &http.Server{Handler: mailbox.Pages(box), ReadHeaderTimeout: headerTimeout}
	failed := make(chan error, 2)
	go func() { failed <- smtp.Serve(in) }()
	go func() { failed <- web.Serve(out) }()
	fmt.Fprintf(stderr, "development mailbox ready, it delivers nothing: smtp://%s, http://%s\n", in.Addr(), out.Addr())
	select {
	case <-ctx.Done():
		err = nil
	case err = <-failed:
	}
	return errors.Join(err, web.Close(), smtp.Close())
}

// loopback listens on an address that nobody else on the network can reach.
func loopback(ctx context.Context, address string) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	if at, ok := l.Addr().(*net.TCPAddr); !ok || !at.IP.IsLoopback() {
		_ = l.Close()
		return nil, fmt.Errorf("%s is not a loopback address, and the mailbox asks nobody who they are", address)
	}
	return l, nil
}
