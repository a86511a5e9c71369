package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"modelgate.internal/shared/conf"
	"modelgate.internal/shared/run"
)

const usage = `dataplane [-config FILE] [settings] serve|check

  serve   answer calls until SIGINT or SIGTERM, then drain
  check   explain the configuration and exit; 1 if the node could not serve by it`

func main() {
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
		}
		return fmt.Errorf("want one command, serve or check; see -help")
	}))
}
