package link

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"modelgate.internal/dataplane/internal/quota/identity"
)

// command answers one command.
func (s *Server) command(ctx context.Context, c *tls.Conn, peer identity.Peer) {
	_ = c.SetDeadline(time.Now().Add(commandTime))
	var buf []byte
	kind, body, err := readMessage(c, &buf, commandBytesMax)
	if err != nil || kind != kindCommand {
		s.refuse(c, RefusedMessage, errMessage)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, commandTime)
	defer cancel()
	_, _ = c.Write(jsonMessage(kindCommand, s.o.Command(ctx, peer, body)))
}

// join admits a node that has a token.
func (s *Server) join(c *tls.Conn) {
	_ = c.SetDeadline(time.Now().Add(commandTime))
	var buf []byte
	var ask identity.Ask
	kind, body, err := readMessage(c, &buf, commandBytesMax)
	if err == nil && kind == kindCommand {
		err = json.Unmarshal(body, &ask)
	}
	if err != nil || kind != kindCommand {
		s.refuse(c, RefusedMessage, errMessage)
		return
	}
	answer, err := s.o.Identity.Admit(&ask, time.Now())
	if err != nil {
		s.refuse(c, RefusedToken, err)
		_, _ = c.Write(jsonMessage(kindCommand, identity.Answer{Error: err.Error()}))
		return
	}
	answer.Peers = s.o.Leadership().Peers
	s.o.Log.Info("a node joined the quota ledger", slog.String("remote", c.RemoteAddr().String()))
	_, _ = c.Write(jsonMessage(kindCommand, answer))
}

// Command sends a command to a node and decodes its answer.
func Command(ctx context.Context, id *identity.Identity, address string, command, answer any) error {
	node, hostPort := SplitAddress(address)
	if hostPort == "" {
		return errNoNetwork
	}
	return exchange(ctx, hostPort, id.ClientTLS(node, protocolCommand), command, answer)
}

// Join makes an identity in the directory by a token, and returns the addresses of the cluster's members.
func Join(ctx context.Context, dir, name string, t *identity.Token) (*identity.Identity, []string, error) {
	return identity.Join(dir, name, protocolJoin, t, func(address string, config *tls.Config, a *identity.Ask) (*identity.Answer, error) {
		answer := &identity.Answer{}
		err := exchange(ctx, address, config, a, answer)
		return answer, err
	})
}

func exchange(ctx context.Context, hostPort string, config *tls.Config, question, answer any) error {
	c, err := dialTLS(ctx, hostPort, config)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(commandTime))
	if deadline, ok := ctx.Deadline(); ok {
		_ = c.SetDeadline(deadline)
	}
	if _, err := c.Write(jsonMessage(kindCommand, question)); err != nil {
		return fmt.Errorf("ask the quota ledger at %s: %w", hostPort, err)
	}
	var buf []byte
	kind, body, err := readMessage(c, &buf, commandBytesMax)
	if err == nil && kind != kindCommand {
		err = errMessage
	}
	if err == nil {
		err = json.Unmarshal(body, answer)
	}
	if err != nil {
		var refused *net.OpError
		if errors.As(err, &refused) && refused.Op == "remote error" {
			return fmt.Errorf("the quota ledger at %s refuses this node: %w", hostPort, err)
		}
		return fmt.Errorf("read answer of the quota ledger at %s: %w", hostPort, err)
	}
	return nil
}
