package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"

	"modelgate.internal/shared/conf"
	"modelgate.internal/shared/obs"
	"modelgate.internal/shared/run"
)

const usage = `controlplane is the control plane of Modelgate.

Usage: controlplane [-config FILE] [settings] COMMAND [arguments]

Commands:
  serve                  run the control plane
  migrate                bring the database's schema up to date
  check                  check settings, secrets and database, and exit
  keygen DIR             write new secrets into a directory
  rewrap                 move what is sealed under the current key-encryption key
  account create EMAIL   create an account
  account show EMAIL     show an account as JSON
  account set EMAIL      change an account's plan or limits, and wait for the nodes
  org set ID             change an organization's limits, and wait for the nodes
  audit verify           find out whether the audit logs are as they were written
  mail                   show what waits in the outbox of mails, and what was given up
  mail test ADDRESS      send a mail now and say how that went
  stripe setup           make or check the products and prices of the plans at Stripe
  stripe events          list notifications of Stripe's that were given up
  stripe replay [EVENT]  apply them, or those named, again
  stripe reconcile       compare every customer with Stripe now
  nodes                  list the gateway nodes and what they have acknowledged
  nodes forget NAME      withdraw a node's identity

COMMAND --help says more about a command.
`

func main() {
	os.Exit(run.Main(os.Stderr, "controlplane", func(ctx context.Context) error {
		return command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	}))
}

// env is what a command works with.
type env struct {
	cfg    Config
	log    *slog.Logger
	stdout io.Writer
	stderr io.Writer
}

// command runs one command line. Results go to stdout; logs and help that was asked for by mistake to stderr.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	e := &env{stdout: stdout, stderr: stderr}
	rest, err := conf.Load(&e.cfg, conf.Options{
		Name: "controlplane", EnvPrefix: "MODELGATE_CONTROLPLANE", Args: args, Usage: usage, Out: stdout,
	})
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	if e.log, err = obs.Logger(stderr, e.cfg.LogLevel, e.cfg.LogFormat); err != nil {
		return err
	}
	if len(rest) == 0 {
		fmt.Fprint(stderr, usage)
		return errors.New("which command?")
	}
	err = e.dispatch(ctx, rest)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	return err
}

func (e *env) dispatch(ctx context.Context, rest []string) error {
	name, args := rest[0], rest[1:]
	switch name {
	case "help":
		fmt.Fprint(e.stdout, usage)
		return nil
	case "serve":
		return e.bare(name, "Runs the control plane until SIGINT or SIGTERM.", args, func() error { return e.serve(ctx) })
	case "migrate":
		return e.bare(name, "Brings the database's schema up to date. Several may run at once; one does the work.", args,
			func() error { return e.migrate(ctx) })
	case "check":
		return e.bare(name, "Prints the settings and checks them, the secrets and the database.", args,
			func() error { return e.check(ctx) })
	case "keygen":
		return e.keygen(args)
	case "rewrap":
		return e.bare(name, rewrapAbout, args, func() error { return e.rewrap(ctx) })
	case "account":
		return e.account(ctx, args)
	case "org":
		return e.org(ctx, args)
	case "audit":
		return e.audit(ctx, args)
	case "mail":
		return e.mail(ctx, args)
	case "stripe":
		return e.stripe(ctx, args)
	case "nodes":
		return e.nodes(ctx, args)
	default:
		return fmt.Errorf("there is no command %q; controlplane help lists them", name)
	}
}

// bare runs a command that takes no arguments.
func (e *env) bare(name, about string, args []string, f func() error) error {
	if _, err := e.parse(e.flags(name, about), args, 0); err != nil {
		return err
	}
	return f()
}

// flags returns a flag set whose help begins with the command line and what it does.
func (e *env) flags(line, about string) *flag.FlagSet {
	f := flag.NewFlagSet("controlplane "+line, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.Usage = func() {
		fmt.Fprintf(e.stdout, "Usage: controlplane [-config FILE] %s\n\n%s\n", line, about)
		f.SetOutput(e.stdout)
		f.PrintDefaults()
		f.SetOutput(io.Discard)
	}
	return f
}

// anyNumber of arguments.
const anyNumber = -1

// parse parses args, in which flags and other arguments may come in any order, and returns the others, of which there must
// be n.
func (e *env) parse(f *flag.FlagSet, args []string, n int) ([]string, error) {
	usage := f.Usage
	f.Usage = func() {} // a mistake is told in one line
	var others []string
	for {
		err := f.Parse(args)
		if errors.Is(err, flag.ErrHelp) {
			usage()
		}
		if err != nil {
			return nil, err
		}
		if f.NArg() == 0 {
			break
		}
		others, args = append(others, f.Arg(0)), f.Args()[1:]
	}
	if n != anyNumber && len(others) != n {
		return nil, fmt.Errorf("want %d arguments, got %d; --help says which", n, len(others))
	}
	return others, nil
}
