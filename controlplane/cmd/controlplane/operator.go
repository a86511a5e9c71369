package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"modelgate.internal/controlplane/internal/account"
	"modelgate.internal/controlplane/internal/audit"
	"modelgate.internal/controlplane/internal/node"
	"modelgate.internal/controlplane/internal/store"
)

// open opens the database of the configuration, which must be migrated.
func (e *env) open(ctx context.Context) (*store.Store, error) {
	url, err := value("database_url", e.cfg.DatabaseURL)
	if err != nil {
		return nil, err
	}
	s, err := store.Open(ctx, url, e.log)
	if err != nil {
		return nil, err
	}
	if err := s.Ready(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (e *env) migrate(ctx context.Context) error {
	url, err := value("database_url", e.cfg.DatabaseURL)
	if err != nil {
		return err
	}
	s, err := store.Open(ctx, url, e.log)
	if err != nil {
		return err
	}
	defer s.Close()
	return s.Migrate(ctx)
}

// check reports everything that is wrong at once.
func (e *env) check(ctx context.Context) error {
	e.cfg.print(e.stdout)
	keys, secretsErr := e.cfg.readSecrets()
	s, databaseErr := e.open(ctx)
	if s != nil {
		if keys.vault != nil {
			databaseErr = sealedReport(ctx, e.stdout, s, keys.vault)
		}
		s.Close()
	}
	if err := errors.Join(e.cfg.checkURLs(), e.cfg.checkCatalog(), e.cfg.checkOffer(), secretsErr, databaseErr); err != nil {
		return fmt.Errorf("the configuration cannot be used:\n%w", err)
	}
	fmt.Fprintln(e.stdout, "ok")
	return nil
}

// account runs the commands about accounts.
func (e *env) account(ctx context.Context, args []string) error {
	ctx = audit.With(ctx, audit.Origin{Operation: "operator account " + strings.Join(args[:min(1, len(args))], "")})
	if len(args) > 0 {
		switch name, rest := args[0], args[1:]; name {
		case "create":
			return e.accountCreate(ctx, rest)
		case "show":
			return e.accountShow(ctx, rest)
		case "set":
			return e.accountSet(ctx, rest)
		}
	}
	return errors.New("want account create, account show or account set, each with an e-mail address")
}

// accounts opens what the account commands work with. The store is to be closed.
func (e *env) accounts(ctx context.Context, cost account.Cost) (*account.Accounts, *store.Store, error) {
	s, err := e.open(ctx)
	if err != nil {
		return nil, nil, err
	}
	passwords, err := account.NewPasswords(cost)
	if err != nil {
		s.Close()
		return nil, nil, err
	}
	return &account.Accounts{Store: s, Passwords: passwords, Log: e.log, Now: time.Now}, s, nil
}

func (e *env) accountCreate(ctx context.Context, args []string) error {
	f := e.flags("account create EMAIL", "Creates an account on the Free plan and prints it.")
	name := f.String("name", "", "name of the developer (required)")
	file := f.String("password-file", "", "file that holds the password (required)")
	others, err := e.parse(f, args, 1)
	if err != nil {
		return err
	}
	if *name == "" || *file == "" {
		return errors.New("account create needs --name and --password-file")
	}
	text, err := os.ReadFile(*file)
	if err != nil {
		return fmt.Errorf("read the password: %w", err)
	}
	password := strings.TrimRight(string(text), "\r\n")
	if n := utf8.RuneCountInString(password); n < account.PasswordRunesMin || n > account.PasswordRunesMax {
		return fmt.Errorf("the password has %d characters, want %d to %d", n, account.PasswordRunesMin, account.PasswordRunesMax)
	}
	accounts, s, err := e.accounts(ctx, account.DefaultCost())
	if err != nil {
		return err
	}
	defer s.Close()
	d, err := accounts.Create(ctx, *name, others[0], password)
	if err != nil {
		return plain(err)
	}
	return e.showAccount(d, nil)
}

func (e *env) accountShow(ctx context.Context, args []string) error {
	others, err := e.parse(e.flags("account show EMAIL", "Prints an account as JSON."), args, 1)
	if err != nil {
		return err
	}
	accounts, s, err := e.accounts(ctx, account.Cost{MemoryKiB: 8, Iterations: 1}) // compares no password
	if err != nil {
		return err
	}
	defer s.Close()
	d, err := accounts.ByEmail(ctx, others[0])
	if err != nil {
		return plain(err)
	}
	return e.showAccount(d, nil)
}

func (e *env) accountSet(ctx context.Context, args []string) error {
	f := e.flags("account set EMAIL", "Changes an account and prints it when the nodes follow. What is not named stays as it is.")
	planID := f.String("plan", "", "free, starter, pro or enterprise")
	perMinute := f.Int64("per-minute", 0, "calls per minute of each key instead of the plan's; 0 goes back to the plan's")
	perDay := f.Int64("per-day", 0, "calls per day of the account instead of the plan's; 0 goes back to the plan's")
	inFlight := f.Int64("in-flight", 0, "calls of each key at a time instead of the plan's; 0 goes back to the plan's")
	tokens := f.Int64("tokens-per-minute", 0, "model tokens per minute of each key instead of the plan's; 0 goes back to the plan's")
	verified := f.Bool("verified", false, "mark the e-mail address as verified")
	others, err := e.parse(f, args, 1)
	if err != nil {
		return err
	}
	change := account.Change{Verified: *verified}
	f.Visit(func(set *flag.Flag) {
		switch set.Name {
		case "plan":
			change.Plan = planID
		case "per-minute":
			change.PerMinute = perMinute
		case "per-day":
			change.PerDay = perDay
		case "in-flight":
			change.InFlight = inFlight
		case "tokens-per-minute":
			change.Tokens = tokens
		}
	})
	accounts, s, err := e.accounts(ctx, account.Cost{MemoryKiB: 8, Iterations: 1}) // compares no password
	if err != nil {
		return err
	}
	defer s.Close()
	d, err := accounts.Set(ctx, others[0], change)
	if err != nil {
		return plain(err)
	}
	receipt, err := e.receipt(ctx, s)
	return errors.Join(e.showAccount(d, receipt), err)
}

// shownAccount is an account as operators see it. The limits are those in force.
type shownAccount struct {
	ID                string     `json:"id"`
	Name              string     `json:"name"`
	Email             string     `json:"email"`
	Plan              string     `json:"plan"`
	PerMinute         int64      `json:"per_minute"`
	PerDay            int64      `json:"per_day"`
	InFlight          int64      `json:"in_flight"`
	TokensPerMinute   int64      `json:"tokens_per_minute"` // 0 is unlimited
	PerMinuteOverride *int64     `json:"per_minute_override"`
	PerDayOverride    *int64     `json:"per_day_override"`
	InFlightOverride  *int64     `json:"in_flight_override"`
	TokensOverride    *int64     `json:"tokens_per_minute_override"`
	VerifiedAt        *time.Time `json:"verified_at"`
	CreatedAt         time.Time  `json:"created_at"`

	Receipt *shownReceipt `json:"receipt,omitempty"` // of a change
}

func (e *env) showAccount(d account.Developer, receipt *shownReceipt) error {
	return e.json(shownAccount{
		ID: d.ID, Name: d.Name, Email: d.Email, Plan: d.Plan, PerMinute: d.Terms().MinuteLimit(), PerDay: d.Terms().DayLimit(),
		InFlight: d.Terms().InFlightLimit(), TokensPerMinute: d.Terms().TokenLimit(), InFlightOverride: d.InFlight, TokensOverride: d.Tokens,
		PerMinuteOverride: d.PerMinute, PerDayOverride: d.PerDay, VerifiedAt: d.VerifiedAt, CreatedAt: d.CreatedAt,
		Receipt: receipt,
	})
}

// nodes lists the nodes, or withdraws the identity of one.
func (e *env) nodes(ctx context.Context, args []string) error {
	forget := len(args) > 0 && args[0] == "forget"
	line, about, n := "nodes", "Lists the gateway nodes: what they have acknowledged and how many versions they are behind.", 0
	if forget {
		line, about, n, args = "nodes forget NAME", "Withdraws a node's identity. It can join again with the join token.", 1, args[1:]
	}
	f := e.flags(line, about)
	asJSON := f.Bool("json", false, "print JSON")
	others, err := e.parse(f, args, n)
	if err != nil {
		return err
	}
	s, err := e.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	registry, err := node.NewRegistry(s, "", e.log)
	if err != nil {
		return err
	}
	if forget {
		return plain(registry.Forget(ctx, others[0]))
	}
	return e.listNodes(ctx, s, registry, *asJSON)
}

// shownNode is a node as operators see it.
type shownNode struct {
	Name         string    `json:"name"`
	Build        string    `json:"build"`
	Live         bool      `json:"live"`
	Forgotten    bool      `json:"forgotten"`
	AckedEpoch   uint64    `json:"acked_epoch"`
	AckedVersion uint64    `json:"acked_version"`
	Behind       *uint64   `json:"behind"` // versions; null when the node has none of this history
	KeysHeld     int64     `json:"keys_held"`
	LastSeenAt   time.Time `json:"last_seen_at"`
}

func (e *env) listNodes(ctx context.Context, s *store.Store, registry *node.Registry, asJSON bool) error {
	now, err := s.Cursor(ctx)
	if err != nil {
		return err
	}
	states, err := registry.List(ctx)
	if err != nil {
		return err
	}
	shown := make([]shownNode, len(states))
	for i, n := range states {
		shown[i] = shownNode{
			Name: n.Name, Build: n.Build, Live: n.Live, Forgotten: n.Forgotten, AckedEpoch: n.Acked.Epoch,
			AckedVersion: uint64(n.Acked.Version), KeysHeld: n.KeysHeld, LastSeenAt: n.LastSeenAt.UTC(),
		}
		if n.Acked.Epoch == now.Epoch && n.Acked.Version <= now.Version {
			behind := uint64(now.Version - n.Acked.Version)
			shown[i].Behind = &behind
		}
	}
	if asJSON {
		return e.json(shown)
	}
	w := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tSTATE\tACKED\tBEHIND\tKEYS\tLAST SEEN\tBUILD")
	for _, n := range shown {
		state, behind := "away", "all"
		switch {
		case n.Forgotten:
			state = "forgotten"
		case n.Live:
			state = "live"
		}
		if n.Behind != nil {
			behind = fmt.Sprint(*n.Behind)
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%d\t%s\t%s\n", n.Name, state, n.AckedVersion, behind, n.KeysHeld, n.LastSeenAt.Format(time.RFC3339), n.Build)
	}
	return w.Flush()
}

func (e *env) json(v any) error {
	enc := json.NewEncoder(e.stdout)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
