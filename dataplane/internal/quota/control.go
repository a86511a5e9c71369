package quota

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

// control takes commands from operators of this machine, over a unix socket in the node's directory: one line of JSON each way.
type control struct {
	n      *Node
	socket net.Listener
}

// socketPath is a path of the socket that the kernel takes, however long the directory's is. The file must be closed after use.
func socketPath(dir string) (string, *os.File, error) {
	path := filepath.Join(dir, socketFile)
	if len(path) <= socketBytesMax {
		return path, nil, nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return "", nil, fmt.Errorf("open directory of the quota ledger: %w", err)
	}
	return "/proc/self/fd/" + strconv.Itoa(int(f.Fd())) + "/" + socketFile, f, nil
}

func (n *Node) openControl(ctx context.Context) (*control, error) {
	path, dir, err := socketPath(n.o.Dir)
	if err != nil {
		return nil, err
	}
	if dir != nil {
		defer func() { _ = dir.Close() }()
	}
	_ = os.Remove(filepath.Join(n.o.Dir, socketFile)) // of a killed process; the log's lock keeps a second one out
	var config net.ListenConfig
	socket, err := config.Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen for commands of the quota ledger: %w", err)
	}
	if unix, ok := socket.(*net.UnixListener); ok {
		unix.SetUnlinkOnClose(false) // the path may lead through a descriptor that is closed by then
	}
	return &control{n, socket}, nil
}

// run answers commands, one at a time per connection.
func (c *control) run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = c.socket.Close() })
	defer stop()
	defer func() { _ = os.Remove(filepath.Join(c.n.o.Dir, socketFile)) }()
	var done sync.WaitGroup
	defer done.Wait()
	for {
		conn, err := c.socket.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("take commands of the quota ledger: %w", err)
		}
		done.Go(func() { c.answer(ctx, conn) })
	}
}

func (c *control) answer(ctx context.Context, conn net.Conn) {
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithTimeout(ctx, commandTime)
	defer cancel()
	_ = conn.SetDeadline(time.Now().Add(commandTime))
	line, err := bufio.NewReader(io.LimitReader(conn, commandBytesMax)).ReadBytes('\n')
	if err != nil {
		return
	}
	var command Command
	a := Answer{Error: "the command is not JSON"}
	if json.Unmarshal(line, &command) == nil {
		a = c.n.Operate(ctx, command)
	}
	_ = json.NewEncoder(conn).Encode(a)
}

// ErrNotRunning says that no node runs in the directory.
var ErrNotRunning = errors.New("no node runs here: start it with `dataplane serve`")

// Ask sends a command to the node that runs in the directory.
func Ask(ctx context.Context, dir string, c Command) (Answer, error) {
	path, f, err := socketPath(dir)
	if err != nil {
		return Answer{}, err
	}
	if f != nil {
		defer func() { _ = f.Close() }()
	}
	ctx, cancel := context.WithTimeout(ctx, commandTime)
	defer cancel()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return Answer{}, fmt.Errorf("%w (%s)", ErrNotRunning, dir)
	}
	defer func() { _ = conn.Close() }()
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	var a Answer
	err = json.NewEncoder(conn).Encode(c)
	if err == nil {
		err = json.NewDecoder(conn).Decode(&a)
	}
	if err == nil && a.Error != "" {
		err = errors.New(a.Error)
	}
	if err != nil {
		return a, fmt.Errorf("%s: %w", c.Op, err)
	}
	return a, nil
}

// running reports whether a node runs in the directory. Its log would make a second one wait for ever.
func running(ctx context.Context, dir string) bool {
	ctx, cancel := context.WithTimeout(ctx, runningTime)
	defer cancel()
	_, err := Ask(ctx, dir, Command{Op: opStatus})
	return !errors.Is(err, ErrNotRunning)
}
