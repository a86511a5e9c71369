package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"modelgate.internal/controlplane/internal/audit"
)

// auditPage is how many audit logs are listed at a time.
const auditPage = 1000

// audit runs the commands about the audit logs.
func (e *env) audit(ctx context.Context, args []string) error {
	if len(args) == 0 || args[0] != "verify" {
		return errors.New("want audit verify")
	}
	f := e.flags("audit verify", "Verifies every audit log and prints the broken ones. The outcome is an error if there is one.")
	if _, err := e.parse(f, args[1:], 0); err != nil {
		return err
	}
	s, err := e.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	log := audit.Log{Store: s}
	var logs, records, broken int64
	next, err := s.AuditChains(ctx, uuid.Nil.String(), auditPage)
	for chains := append([]string{audit.Installation}, next...); err == nil && len(chains) > 0; {
		for _, chain := range chains {
			n, reason, err := verifyAll(ctx, &log, chain)
			if err != nil {
				return err
			}
			logs, records = logs+1, records+n
			if reason != "" {
				broken++
				fmt.Fprintf(e.stdout, "broken   %s  %s\n", chain, reason)
			}
		}
		chains, err = s.AuditChains(ctx, chains[len(chains)-1], auditPage)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(e.stdout, "logs     %d\nrecords  %d\nbroken   %d\n", logs, records, broken)
	if broken > 0 {
		return fmt.Errorf("%d audit logs are not as they were written", broken)
	}
	return nil
}

// verifyAll verifies an audit log from the beginning to the end. The reason is empty if it is as it was written.
func verifyAll(ctx context.Context, log *audit.Log, chain string) (records int64, reason string, err error) {
	for after := int64(0); ; {
		v, err := log.Verify(ctx, chain, after)
		records += v.Checked
		switch {
		case err != nil:
			return records, "", err
		case v.Broken > 0:
			return records, fmt.Sprintf("record %d: %s", v.Broken, v.Reason), nil
		case v.Next == 0:
			return records, "", nil
		}
		after = v.Next
	}
}
