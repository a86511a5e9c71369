package quota

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"modelgate.internal/dataplane/internal/quota/identity"
)

// keepCertificate renews the node's certificate when that is due, and tries again later if it fails. It returns when it tried.
func (n *Node) keepCertificate(ctx context.Context, tried time.Time) time.Time {
	now := n.o.Now()
	if !n.id.Due(now) || now.Sub(tried) < renewPause {
		return tried
	}
	ends := slog.Time("ends", n.id.Expires())
	if err := n.renew(ctx); err != nil {
		n.o.Log.Warn("the certificate of this node of the quota ledger is not renewed", ends, slog.Any("error", err))
	} else {
		n.o.Log.Info("the certificate of this node of the quota ledger is renewed", ends)
	}
	return now
}

// renew has this node's certificate made anew: by itself if it has the authority's key, else by the leader.
func (n *Node) renew(ctx context.Context) error {
	if n.id.Signs() {
		return n.id.Renew(nil)
	}
	a, err := n.toLeader(ctx, Command{Op: OpRenew, Node: n.id.Node, Public: n.id.Public()})
	switch {
	case err != nil:
		return err
	case a.Error != "":
		return errors.New(a.Error)
	case len(a.Cert) == 0:
		return errors.New("the leader answers without a certificate")
	}
	return n.id.Renew(a.Cert)
}

// reissue makes a new certificate for a node that asks over the network. Only the leader does: it is the first to know who is banned.
func (n *Node) reissue(from identity.Peer, public []byte) Answer {
	if n.replica == nil || !n.replica.Leading() {
		return n.elsewhere()
	}
	der, err := n.id.Reissue(from, public)
	if err != nil {
		return Answer{Error: err.Error()}
	}
	return Answer{Cert: der}
}
