package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"modelgate.internal/shared/conf"
	"modelgate.internal/shared/run"
)

const usage = `dataplane [-config FILE] [settings] serve|check|quota COMMAND|spool COMMAND

  serve   answer calls until SIGINT or SIGTERM, then drain
  check   explain the configuration and exit; 1 if the node could not serve by it
  quota   operate the rate-limit ledger; see quota help
  spool   ship or inspect the usage log of a node that does not run; see spool help`

func main() {
	signal.Ignore(syscall.SIGXFSZ) // a file that may not grow is an error of the write, as on a full disk, and not the end of the process
	os.Exit(run.Main(os.Stderr, "dataplane", func(ctx context.Context) error {
		var cfg Config
		rest, err := conf.Load(&cfg, conf.Options{
			Name: "dataplane", EnvPrefix: "MODELGATE_DATAPLANE", Args: os.Args[1:], Usage: usage, Out: os.Stdout,
		})
		switch {
		case errors.Is(err, flag.ErrHelp):
			return nil
		case err != nil:
			return err
		case len(rest) == 1 && rest[0] == "serve":
			return serve(ctx, &cfg)
		case len(rest) == 1 && rest[0] == "check":
			return check(os.Stdout, &cfg)
		case len(rest) > 0 && rest[0] == "quota":
			return quotaCommand(ctx, &cfg, rest[1:], os.Stdout)
		case len(rest) > 0 && rest[0] == "spool":
			return spoolCommand(ctx, &cfg, rest[1:], os.Stdout)
		}
		return fmt.Errorf("want one command, serve, check, quota or spool; see -help")
	}))
}
