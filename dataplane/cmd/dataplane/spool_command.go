package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"modelgate.internal/dataplane/internal/snapshot"
	"modelgate.internal/dataplane/internal/spool"
	"modelgate.internal/shared/obs"
)

const spoolUsage = `dataplane [-config FILE] spool COMMAND

The usage log of a node keeps the records of its calls until the control plane has them. DIR is a node's data directory (data_dir), the one
with node.json and spool/ in it; without one it is that of the configuration.

  ship [DIR]     upload what a node that never comes back left, under its own identity, from any machine that reaches control_url; calls that were
                 running when it died are counted as node_crash. Files go as they are acknowledged, so it can be interrupted and run
                 again; nothing is counted twice. Refused while a node runs in DIR. What is damaged stays in DIR/spool/damaged.
  inspect [DIR]  say what is in the files, without changing anything

If the node was forgotten, or another node has joined under its name, its own secret is worth nothing any more: run ship with the
configuration of the node that has the name now.`

// spoolCommand runs an operator's command on a usage log.
func spoolCommand(ctx context.Context, cfg *Config, args []string, out io.Writer) error {
	if len(args) == 0 || args[0] == "help" || args[0] == "-h" || args[0] == "-help" || args[0] == "--help" {
		fmt.Fprintln(out, spoolUsage)
		return nil
	}
	dir := cfg.DataDir
	if len(args) == 2 {
		dir = args[1]
	}
	switch {
	case len(args) > 2:
		return fmt.Errorf("spool %s: wrong number of arguments; see `dataplane spool help`", args[0])
	case args[0] == "ship":
		return shipSpool(ctx, cfg, dir, out)
	case args[0] == "inspect":
		return inspectSpool(dir, out)
	}
	return fmt.Errorf("there is no command spool %s; see `dataplane spool help`", args[0])
}

func shipSpool(ctx context.Context, cfg *Config, dir string, out io.Writer) error {
	log := slog.New(slog.NewTextHandler(out, nil))
	link, err := linkOf(cfg, dir, log)
	if err != nil {
		return err
	}
	told := time.Now()
	stats, err := spool.Ship(ctx, spool.Options{DataDir: dir, Uploader: link, Now: time.Now, Log: log}, func(s spool.Stats) {
		if time.Since(told) >= time.Second {
			told = time.Now()
			fmt.Fprintf(out, "%d records shipped, %d files left\n", s.Acknowledged, s.Backlog)
		}
	})
	fmt.Fprintf(out, "%d records shipped as node %s, %d of them of calls that were cut; %d records lost to damage, %d damaged files in %s; %d files left\n",
		stats.Acknowledged, link.NodeID(), stats.Cut, stats.Lost, stats.Damaged, filepath.Join(dir, "spool", "damaged"), stats.Backlog)
	return err
}

// linkOf returns the way to the control plane as the node that dir is of. It does not join: under a new identity, records would be
// counted that are counted already.
func linkOf(cfg *Config, dir string, log *slog.Logger) (*snapshot.Link, error) {
	open := func(dir string) (*snapshot.Link, error) {
		return snapshot.NewLink(snapshot.LinkOptions{
			BaseURL: cfg.ControlURL, Name: cfg.Name, Build: obs.Version(), DataDir: dir, Client: &http.Client{}, Log: log,
		})
	}
	dead, err := open(dir)
	if err != nil {
		return nil, err
	}
	if dead.NodeID() == "" {
		return nil, fmt.Errorf("%s has no node.json: it is not the data directory of a node that has joined", dir)
	}
	if _, err := os.Stat(filepath.Join(cfg.DataDir, "node.json")); err == nil {
		own, err := open(cfg.DataDir)
		if err != nil {
			return nil, err
		}
		if own.NodeID() == dead.NodeID() { // the node that has the name now
			return own, nil
		}
	}
	return dead, nil
}

var errInspected = errors.New("there is damage; what is whole is shipped all the same")

func inspectSpool(dir string, out io.Writer) error {
	files, err := spool.Inspect(dir)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "FILE\tRECORDS\tSTATE")
	records, bad := 0, false
	for _, f := range files {
		state := "whole"
		switch {
		case f.Why != "":
			state = f.Why
		case f.Parts > 1:
			state = fmt.Sprintf("damaged in the middle: %d parts", f.Parts)
		case f.Damaged > 0:
			state = fmt.Sprintf("%d notes of calls cannot be read", f.Damaged)
		case f.Torn:
			state = "ends in a torn record"
		}
		bad = bad || state != "whole"
		records += f.Records
		fmt.Fprintf(w, "%s\t%d\t%s\n", f.Name, f.Records, state)
	}
	_ = w.Flush()
	fmt.Fprintf(out, "%d files, %d records\n", len(files), records)
	if bad {
		return errInspected
	}
	return nil
}
