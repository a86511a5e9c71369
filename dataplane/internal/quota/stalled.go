package quota

import (
	"log/slog"
	"net"

	"github.com/hashicorp/raft"
)

// stalled reports whether this voter takes no part because its disk is full. Its leases come from the others.
func (n *Node) stalled() bool { return n.replica != nil && n.replica.Stalled() }

func (n *Node) tellStalled(err error) {
	if err != nil {
		n.o.Log.Error("the disk keeps no votes of the quota ledger: this voter takes no part until it does, and leases come from the others",
			slog.String("data_dir", n.o.Dir), slog.Any("error", err))
		return
	}
	n.o.Log.Warn("the disk keeps votes of the quota ledger again: this voter takes part")
}

// refusing is the way of raft to the others, which refuses their connections while nobody would answer: else each of their attempts would
// leave one open.
type refusing struct {
	raft.StreamLayer
	now func() bool
}

// Accept implements net.Listener.
func (r refusing) Accept() (net.Conn, error) {
	for {
		c, err := r.StreamLayer.Accept()
		if err != nil || !r.now() {
			return c, err
		}
		_ = c.Close()
	}
}
