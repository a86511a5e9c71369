package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"modelgate.internal/bench/internal/compare"
	"modelgate.internal/shared/run"
)

func main() {
	code := 0
	failed := run.Main(os.Stderr, "compare", func(ctx context.Context) (err error) {
		code, err = command(ctx, os.Args[1:], os.Stdout, os.Stderr)
		return err
	})
	os.Exit(max(code, failed))
}

// command is main without the process.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) (code int, err error) {
	o := compare.Options{Out: stderr}
	var results, targets, scenes string
	f := flag.NewFlagSet("compare", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.Bin, "bin", "bin", "`directory` of our programs")
	f.StringVar(&results, "results", "bench/report/results", "`directory` for the file with the results; empty writes none")
	f.StringVar(&o.Unlimited, "unlimited", "", "`directory` of our programs with a node that judges no limits, for the target unlimited")
	f.BoolVar(&o.Quick, "quick", false, "one short run each of gateway and nginx, in at most 90 s")
	f.IntVar(&o.Repeats, "repeats", 0, "`number` of runs of each; 0 is 3, and 1 with -quick")
	f.StringVar(&targets, "targets", "", "`names` of what to compare, separated by commas: gateway, unlimited, nginx, haproxy, caddy, direct")
	f.StringVar(&scenes, "scenes", "", "`names` of scenes, separated by commas: unary, burst, lone1000, lone5000, leave-flowing, leave-silent, leave-unary")
	f.BoolVar(&o.Install, "install", true, "install rivals that are missing with apt-get, if we are root")
	f.BoolVar(&o.Keep, "keep", false, "keep logs and configurations")
	switch err := f.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0, nil
	case err != nil:
		return 2, nil //nolint:nilerr // the flag package has said why
	case f.NArg() > 0:
		fmt.Fprintf(stderr, "compare: unexpected arguments %q\n", f.Args())
		return 2, nil
	}
	o.Targets, o.Scenes = names(targets), names(scenes)
	report, err := compare.Run(ctx, o)
	if len(report.Rows) == 0 {
		return 1, err
	}
	report.WriteTable(stdout, compare.Gateway)
	if results == "" {
		return 0, err
	}
	path, saveErr := report.Save(results)
	if saveErr == nil {
		fmt.Fprintln(stdout, "results:", path)
	}
	return 0, errors.Join(err, saveErr)
}

func names(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}
