package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"text/tabwriter"

	"modelgate.internal/dataplane/internal/quota"
	"modelgate.internal/dataplane/internal/quota/identity"
)

const quotaUsage = `dataplane [-config FILE] quota COMMAND

The rate-limit ledger keeps every limit exact over all nodes of a cluster. Three voters bear the loss of one, five of two; any number of
clients lease from them. A NODE is an ID as peers shows it, or self. Commands but init, join and recover want this node to run; what only the leader can do is passed on to it.

  init                     begin a cluster with this node as its only voter (serve does so too, if the node is told of no others)
  token [-role client]     issue a token by which one node can join within a day; -role voter for a node that keeps the log
  join TOKEN               make this node one of a cluster; a voter keeps the log at once and votes after promote
  peers                    who keeps the log, who votes, who leads, who leases
  promote NODE             NODE votes from now on
  demote NODE              NODE keeps the log and does not vote any more
  transfer [NODE]          hand leadership to NODE, or to any voter
  leave                    this node votes no more, as the first step of taking it away
  forget [-force] NODE     NODE is gone for good: its certificate is refused from now on, by every voter; -force cuts off one that is connected
  renew                    get a new certificate for this node now; it does so by itself when a third of the present one's 90 days is left
  snapshot                 write a snapshot of the ledger in this node's directory
  recover [-yes]           make this stopped node the only voter, when the others are lost for good; says first what that gives up`

// quotaCommand runs an operator's command.
func quotaCommand(ctx context.Context, cfg *Config, args []string, out io.Writer) error {
	if len(args) == 0 || args[0] == "help" || args[0] == "-h" || args[0] == "-help" || args[0] == "--help" {
		fmt.Fprintln(out, quotaUsage)
		return nil
	}
	name := args[0]
	flags := flag.NewFlagSet("quota "+name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	role := flags.String("role", string(identity.Client), "")
	yes := flags.Bool("yes", false, "")
	force := flags.Bool("force", false, "")
	if err := flags.Parse(args[1:]); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(out, quotaUsage)
			return nil
		}
		return fmt.Errorf("quota %s: %w; see `dataplane quota help`", name, err)
	}
	node, err := nodeArgument(name, flags.Args())
	if err != nil {
		return err
	}
	switch name {
	case "init":
		cluster, err := quota.Begin(cfg.quotaDir(), cfg.Name)
		if err == nil {
			fmt.Fprintf(out, "began cluster %s; this node is its only voter\n", cluster)
		}
		return err
	case "join":
		peer, err := quota.Join(ctx, cfg.quotaDir(), cfg.Name, node)
		if err == nil {
			fmt.Fprintf(out, "joined cluster %s as the %s %s\n", peer.Cluster, peer.Role, peer.Node)
		}
		return err
	case "recover":
		return recoverQuota(ctx, cfg, *yes, out)
	}
	a, err := quota.Ask(ctx, cfg.quotaDir(), quota.Command{Op: name, Node: node, Role: identity.Role(*role), Force: *force})
	switch {
	case err != nil:
		return err
	case a.Token != "":
		fmt.Fprintln(out, a.Token)
	case name == quota.OpPeers:
		printPeers(out, &a)
	default:
		fmt.Fprintln(out, a.Text)
	}
	return nil
}

// nodeArgument returns the one argument of a command, if it takes one.
func nodeArgument(name string, args []string) (string, error) {
	least, most := 0, 0
	switch name {
	case "join", quota.OpPromote, quota.OpDemote, quota.OpForget:
		least, most = 1, 1
	case quota.OpTransfer:
		most = 1
	case "init", "recover", quota.OpToken, quota.OpPeers, quota.OpLeave, quota.OpSnapshot, quota.OpRenew:
	default:
		return "", fmt.Errorf("there is no command quota %s; see `dataplane quota help`", name)
	}
	if len(args) < least || len(args) > most {
		return "", fmt.Errorf("quota %s: wrong number of arguments; see `dataplane quota help`", name)
	}
	if len(args) == 0 {
		return "", nil
	}
	return args[0], nil
}

func printPeers(out io.Writer, a *quota.Answer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NODE\tADDRESS\tIS")
	for _, m := range a.Members {
		is := m.Suffrage
		if m.Leads {
			is += ", leads"
		}
		if m.Silent != "" {
			is += ", silent for " + m.Silent
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", m.Node, m.Address, is)
	}
	for _, m := range a.Clients {
		fmt.Fprintf(w, "%s\t%s\tClient\n", m.Node, m.Address)
	}
	_ = w.Flush()
	fmt.Fprintf(out, "%d entries applied\n", a.Index)
}

func recoverQuota(ctx context.Context, cfg *Config, yes bool, out io.Writer) error {
	losses, err := quota.Recover(ctx, cfg.quotaDir(), yes)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d other voters and %d further members are forgotten for good. This node's newest entry is %d; what others wrote after "+
		"that is lost, and limits may be exceeded by what was granted there.\n", losses.Voters, losses.Others, losses.LastIndex)
	if !yes {
		return errors.New("nothing was changed: run `dataplane quota recover -yes` if this is what you want, on one node only")
	}
	fmt.Fprintln(out, "this node is the only voter now; the others must join anew, with their directories moved away")
	return nil
}
