package listener

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// firstInherited is the first descriptor that systemd passes, and the first of exec.Cmd.ExtraFiles.
const firstInherited = 3

// Sockets hands out the listening sockets that the process was started with: systemd's socket activation, or a parent that
// passes its own, so that a restart refuses nobody. The protocol is sd_listen_fds(3): LISTEN_FDS descriptors from 3 on, named
// by LISTEN_FDNAMES, meant for the process LISTEN_PID. A parent that cannot know the pid leaves LISTEN_PID out.
type Sockets struct{ inherited map[string]int }

// Inherited reads the environment. The names say which socket is whose; without LISTEN_FDNAMES they are assigned in the given
// order. Descriptors that nobody asks for stay open.
func Inherited(lookup func(string) (string, bool), order ...string) (*Sockets, error) {
	s := &Sockets{inherited: map[string]int{}}
	count, ok := lookup("LISTEN_FDS")
	if !ok {
		return s, nil
	}
	if pid, ok := lookup("LISTEN_PID"); ok && pid != strconv.Itoa(os.Getpid()) {
		return s, nil
	}
	n, err := strconv.Atoi(count)
	if err != nil || n < 0 {
		return nil, fmt.Errorf("inherit sockets: LISTEN_FDS is %q", count)
	}
	names := order
	if text, ok := lookup("LISTEN_FDNAMES"); ok {
		names = strings.Split(text, ":")
	}
	for i := range n {
		unix.CloseOnExec(firstInherited + i)
		if i < len(names) && slices.Contains(order, names[i]) {
			s.inherited[names[i]] = firstInherited + i
		}
	}
	return s, nil
}

// Listen returns the inherited socket of the name, or else opens the address.
func (s *Sockets) Listen(ctx context.Context, name, address string) (net.Listener, error) {
	fd, ok := s.inherited[name]
	if !ok {
		config := net.ListenConfig{KeepAlive: -1, Control: func(_, _ string, c syscall.RawConn) error { return tune(c) }}
		config.SetMultipathTCP(false) // its sockets do not know all of the options
		l, err := config.Listen(ctx, "tcp", address)
		if err != nil {
			return nil, fmt.Errorf("listen for the %s host: %w", name, err)
		}
		return l, nil
	}
	delete(s.inherited, name)
	file := os.NewFile(uintptr(fd), name)
	defer file.Close() // FileListener works on a copy
	l, err := net.FileListener(file)
	if err != nil {
		return nil, fmt.Errorf("inherit the socket of the %s host: %w", name, err)
	}
	tcp, ok := l.(*net.TCPListener)
	if !ok {
		return nil, fmt.Errorf("inherit the socket of the %s host: it is not TCP", name)
	}
	raw, err := tcp.SyscallConn()
	if err == nil {
		err = tune(raw)
	}
	if err != nil && !errors.Is(err, unix.ENOPROTOOPT) { // a multipath socket keeps what whoever opened it has set
		return nil, fmt.Errorf("inherit the socket of the %s host: %w", name, err)
	}
	return l, nil
}

// tune sets what accepted connections inherit from the listening socket on Linux, once instead of with every accept: how
// peers that vanish without a FIN are found out.
func tune(c syscall.RawConn) error {
	var failed error
	err := c.Control(func(fd uintptr) {
		set := func(level, option, value int) {
			failed = errors.Join(failed, unix.SetsockoptInt(int(fd), level, option, value))
		}
		set(unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1)
		set(unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, int(keepAliveIdle.Seconds()))
		set(unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, int(keepAliveEvery.Seconds()))
		set(unix.IPPROTO_TCP, unix.TCP_KEEPCNT, keepAliveProbes)
		set(unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(userTimeout.Milliseconds()))
	})
	return errors.Join(err, failed)
}
