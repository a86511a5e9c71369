package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Roles of nodes in the rate-limit ledger.
const (
	roleVoter  = "voter"
	roleClient = "client"
)

// votersMax is how many nodes keep the ledger: three bear the loss of one.
const votersMax = 3

// role is the n-th node's in the ledger. Two voters would be no better than one.
func (s *Stack) role(n int) string {
	if n == 0 || (n < votersMax && s.o.Nodes >= votersMax) {
		return roleVoter
	}
	return roleClient
}

// tokenFile holds the token by which a node joins the ledger.
func (s *Stack) tokenFile(name string) string { return s.at.secret("quota_join_" + name) }

func (s *Stack) quotaDir(name string) string { return filepath.Join(s.at.dir, name, "quota") }

// joined reports whether a node belongs to a ledger.
func (s *Stack) joined(name string) bool {
	_, err := os.Stat(s.quotaDir(name))
	return err == nil
}

// keepsLog reports whether a node is a voter of a ledger.
func (s *Stack) keepsLog(name string) bool {
	_, err := os.Stat(filepath.Join(s.quotaDir(name), "log"))
	return err == nil
}

// arrange fits what an earlier run left to the number of nodes of this one. If a voter is not wanted any more the first node goes on with
// the counts alone, and the others join it anew.
func (s *Stack) arrange(ctx context.Context) error {
	fewer := false
	for n := 1; n < nodesMax; n++ {
		fewer = fewer || (s.keepsLog(nodeName(n)) && (n >= s.o.Nodes || s.role(n) != roleVoter))
	}
	if fewer {
		s.out.say("the rate-limit ledger had more voters: going on with that of %s", nodeName(0))
		if err := s.tool(ctx, "go on with fewer voters", "dataplane", "-config", s.at.config(nodeName(0)), "quota", "recover", "-yes"); err != nil {
			return err
		}
	}
	for n := 1; n < nodesMax; n++ {
		if name := nodeName(n); fewer || (s.role(n) == roleVoter && !s.keepsLog(name)) {
			if err := os.RemoveAll(s.quotaDir(name)); err != nil {
				return fmt.Errorf("have %s join anew: %w", name, err)
			}
		}
	}
	return nil
}

// startNodes starts the nodes. Those that share a ledger already need each other to be ready, so they start together; the others join
// one by one.
func (s *Stack) startNodes(ctx context.Context, nodes []*part) error {
	if err := s.arrange(ctx); err != nil {
		return err
	}
	var together []*part
	for n, p := range nodes {
		if n == 0 || s.joined(p.name) {
			s.out.say("starting %s", p.name)
			s.parts, together = append(s.parts, p), append(together, p)
			if err := p.start(ctx); err != nil {
				return err
			}
		}
	}
	for _, p := range together {
		if err := s.awaitPart(ctx, p); err != nil {
			return err
		}
	}
	for n, p := range nodes {
		if n == 0 || s.joined(p.name) {
			continue
		}
		if err := s.issueToken(ctx, p.name, s.role(n)); err != nil {
			return err
		}
		if err := s.startPart(ctx, p); err != nil {
			return err
		}
		if s.role(n) == roleVoter {
			if err := s.promote(ctx, p.name); err != nil {
				return err
			}
		}
	}
	return nil
}

// issueToken has the first node let another one join.
func (s *Stack) issueToken(ctx context.Context, name, role string) error {
	token, err := s.output(ctx, "let "+name+" join the rate-limit ledger", "dataplane", "-config", s.at.config(nodeName(0)), "quota", "token", "-role", role)
	if err != nil {
		return err
	}
	return writeFile(s.tokenFile(name), []byte(strings.TrimSpace(token)+"\n"))
}

// promote gives a node its vote, as soon as it has caught up.
func (s *Stack) promote(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, promoteWait)
	defer cancel()
	for {
		_, err := s.output(ctx, "promote "+name, "dataplane", "-config", s.at.config(name), "quota", "promote", "self")
		if err == nil || strings.Contains(err.Error(), "it votes already") {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("%s got no vote in %s", name, promoteWait), err)
		case <-time.After(readyPoll):
		}
	}
}
