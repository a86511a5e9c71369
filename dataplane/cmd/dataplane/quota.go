package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"modelgate.internal/dataplane/internal/limit"
	"modelgate.internal/dataplane/internal/quota"
	"modelgate.internal/dataplane/internal/quota/identity"
	"modelgate.internal/dataplane/internal/snapshot"
	"modelgate.internal/shared/plane"
)

// quotaDir is where the node's part of the rate-limit ledger lies.
func (c *Config) quotaDir() string { return filepath.Join(c.DataDir, "quota") }

// quotaPeers are the addresses of other nodes.
func (c *Config) quotaPeers() []string {
	return strings.FieldsFunc(c.QuotaPeers, func(r rune) bool { return r == ',' || r == ' ' })
}

// quotaAddress is what other nodes reach this one by.
func (c *Config) quotaAddress() string {
	if c.QuotaAddress != "" {
		return c.QuotaAddress
	}
	return c.QuotaListen
}

// openQuota opens the node's part of the ledger, and begins or joins a cluster with the first start. A node that is told of no others
// is alone.
func (n *node) openQuota(ctx context.Context, days quota.Days) error {
	dir := n.cfg.quotaDir()
	if !quota.Exists(dir) {
		if err := enterCluster(ctx, n.cfg, n.log); err != nil {
			return err
		}
	}
	o := quota.Options{Dir: dir, Address: n.cfg.quotaAddress(), Peers: n.cfg.quotaPeers(), Days: days, Metrics: n.reg, Log: n.log}
	if n.cfg.QuotaListen != "" {
		var err error
		if o.Socket, err = (&net.ListenConfig{}).Listen(ctx, "tcp", n.cfg.QuotaListen); err != nil {
			return fmt.Errorf("quota_listen: %w", err)
		}
	}
	var err error
	if n.quota, err = quota.Open(ctx, o); err != nil {
		if o.Socket != nil {
			_ = o.Socket.Close()
		}
		return err
	}
	who := n.quota.Identity()
	n.log.Info("rate limits are judged by the ledger", slog.String("cluster", who.Cluster), slog.String("quota_node", who.Node),
		slog.String("role", string(who.Role)))
	n.limiter = limit.New(n.quota.Leases())
	return nil
}

// daysOf asks the control plane what was counted on a day.
func daysOf(link *snapshot.Link) quota.Days {
	return func(ctx context.Context, accounts []string, day time.Time) (map[string]int64, error) {
		body, err := json.Marshal(plane.DaysRequest{Day: day.Format(time.DateOnly), Accounts: accounts})
		if err != nil {
			return nil, err
		}
		status, text, err := link.Send(ctx, plane.DaysPath, http.Header{"Content-Type": {"application/json"}}, body)
		if err != nil {
			return nil, err
		}
		if status != http.StatusOK {
			return nil, fmt.Errorf("ask what was counted on a day: control plane answers %d: %.300s", status, text)
		}
		var answer plane.DaysAnswer
		if err := json.Unmarshal(text, &answer); err != nil {
			return nil, fmt.Errorf("decode what was counted on a day: %w", err)
		}
		return answer.Calls, nil
	}
}

// enterCluster makes the directory of a node that has none.
func enterCluster(ctx context.Context, cfg *Config, log *slog.Logger) error {
	switch {
	case cfg.QuotaJoin.IsSet():
		token, err := cfg.QuotaJoin.Value()
		if err != nil {
			return fmt.Errorf("quota_join: %w", err)
		}
		const patience = 30 * time.Second
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		peer, err := quota.Join(ctx, cfg.quotaDir(), cfg.Name, token)
		if err != nil {
			return fmt.Errorf("join the rate-limit ledger: %w", err)
		}
		log.Info("joined the rate-limit ledger", slog.String("cluster", peer.Cluster), slog.String("role", string(peer.Role)))
		return nil
	case len(cfg.quotaPeers()) > 0:
		return errors.New("quota_peers names other nodes, but this one has not joined them: set quota_join to a token, or run " +
			"`dataplane quota join`. `dataplane quota token` on a voter issues tokens")
	default:
		cluster, err := quota.Begin(cfg.quotaDir(), cfg.Name)
		if err == nil {
			log.Info("began a rate-limit ledger of this node alone", slog.String("cluster", cluster))
		}
		return err
	}
}

// quota explains where rate limits are judged.
func (c *checker) quota(cfg *Config) {
	dir := cfg.quotaDir()
	switch {
	case quota.Exists(dir):
		id, err := identity.Load(dir)
		if err != nil {
			c.fail(fmt.Errorf("data_dir: %w", err))
			return
		}
		c.say("rate-limit ledger", "cluster %s, as the %s %s", id.Cluster, id.Role, id.Node)
		if id.Role == identity.Voter && cfg.QuotaListen == "" && len(cfg.quotaPeers()) > 0 {
			c.fail(errors.New("quota_listen: is not set, and other voters must reach this one"))
		}
	case cfg.QuotaJoin.IsSet():
		c.say("rate-limit ledger", "the node joins first; token: %s", cfg.QuotaJoin)
		c.secret("quota_join", cfg.QuotaJoin)
	case len(cfg.quotaPeers()) > 0:
		c.fail(errors.New("quota_join: is not set, and the node has not joined the nodes that quota_peers names"))
	default:
		c.say("rate-limit ledger", "of this node alone, begun with the first start")
	}
	if cfg.QuotaListen != "" {
		c.address("", "quota_listen", cfg.QuotaListen)
		c.say("", "told to other nodes as %s", cfg.quotaAddress())
		if host, _, err := net.SplitHostPort(cfg.quotaAddress()); err != nil || host == "" || net.ParseIP(host).IsUnspecified() {
			c.fail(errors.New("quota_address: must be an address that other nodes can reach, HOST:PORT"))
		}
	}
}
