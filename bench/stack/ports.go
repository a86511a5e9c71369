package stack

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Ports, counted from PortBase.
const (
	portControl = iota
	portGateway
	portDarwin
	portControlInternal
	portControlMetrics
	portNodeMetrics
	portSimulator
	portMailboxSMTP
	portMailbox
	portQuota
	portStripe
)

// nodePort is a port of the n-th node, from 0.
func nodePort(n, port int) int { return n*portsPerNode + port }

func (s *Stack) address(port int) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.o.PortBase+port))
}

func (s *Stack) metricsURL(port int) string { return "http://" + s.address(port) }

// use is a port and what listens on it.
type use struct {
	port int
	what string
}

// uses lists the ports of a stack.
func uses(nodes int, simulated, paid bool) []use {
	list := []use{
		{portControl, "control plane"},
		{portControlInternal, "control plane, for nodes"},
		{portControlMetrics, "metrics of the control plane"},
		{portMailboxSMTP, "mailbox, for mails"},
		{portMailbox, "pages of the mailbox"},
	}
	for n := range nodes {
		list = append(list, use{nodePort(n, portGateway), "gateway of " + nodeName(n)},
			use{nodePort(n, portDarwin), "Darwin host of " + nodeName(n)}, use{nodePort(n, portNodeMetrics), "metrics of " + nodeName(n)})
		if nodes > 1 {
			list = append(list, use{nodePort(n, portQuota), "rate-limit ledger of " + nodeName(n)})
		}
	}
	if !paid {
		list = append(list, use{portStripe, "simulator of Stripe"})
	}
	if simulated {
		list = append(list, use{portSimulator, "simulator"})
	}
	return list
}

// FreePortBase finds a PortBase for a stack of so many nodes, for tests that run beside each other. It looks below the ports that
// the kernel gives to outgoing connections.
func FreePortBase(ctx context.Context, nodes int) (int, error) {
	const from, to, tries = 20000, 32000, 200
	var err error
	for range tries {
		s := &Stack{o: Options{PortBase: from + rand.IntN((to-from)/portsPerNode)*portsPerNode, Nodes: nodes}} //nolint:gosec // no secret
		if err = s.checkPorts(ctx); err == nil {
			return s.o.PortBase, nil
		}
	}
	return 0, fmt.Errorf("find free ports: %w", err)
}

// checkPorts finds out before anything runs whether a port is taken.
func (s *Stack) checkPorts(ctx context.Context) error {
	for _, u := range uses(s.o.Nodes, s.simulated(), s.paid()) {
		if err := s.checkPort(ctx, u); err != nil {
			return err
		}
	}
	return nil
}

func (s *Stack) checkPort(ctx context.Context, u use) error {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", s.address(u.port))
	if err == nil {
		return l.Close()
	}
	if !errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("listen on port %d (%s): %w", s.o.PortBase+u.port, u.what, err)
	}
	return fmt.Errorf("port %d (%s) is taken%s: stop that, or set MODELGATE_PORT_BASE to another first port than %d",
		s.o.PortBase+u.port, u.what, listener(s.o.PortBase+u.port), s.o.PortBase)
}

// listener names the process that listens on a port, as far as /proc shows it to us.
func listener(port int) string {
	sockets := listening(port)
	fds, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, fd := range fds {
		target, err := os.Readlink(fd)
		if err != nil || !sockets[target] {
			continue
		}
		pid := strings.Split(fd, "/")[2]
		name, _ := os.ReadFile("/proc/" + pid + "/comm")
		return fmt.Sprintf(" by %s (process %s)", strings.TrimSpace(string(name)), pid)
	}
	return ""
}

// listening lists the sockets that listen on a port, as /proc names them: "socket:[12345]".
func listening(port int) map[string]bool {
	const stateListen = "0A"
	sockets := map[string]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		file, err := os.Open(table)
		if err != nil {
			continue
		}
		for lines := bufio.NewScanner(file); lines.Scan(); {
			f := strings.Fields(lines.Text()) // sl local_address rem_address st … inode
			if len(f) > 9 && f[3] == stateListen && strings.HasSuffix(f[1], fmt.Sprintf(":%04X", port)) {
				sockets["socket:["+f[9]+"]"] = true
			}
		}
		_ = file.Close()
	}
	return sockets
}
