package devdb

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"

	"modelgate.internal/shared/child"
)

// cockroach is a private single-node CockroachDB without TLS on the loopback interface.
type cockroach struct {
	binary string
	dir    string // it writes profiles where it runs
	store  string
	port   int
}

func newCockroach(o Options, binary string) *cockroach {
	c := &cockroach{binary: binary, dir: o.Dir, store: "path=" + filepath.Join(o.Dir, "cockroach")}
	if !o.Fsync {
		c.store = "type=mem,size=25%"
	}
	return c
}

// prepare chooses a port, once: the address stays the same over restarts.
func (c *cockroach) prepare(ctx context.Context) error {
	if c.port != 0 {
		return nil
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("find a port for the database: %w", err)
	}
	c.port = l.Addr().(*net.TCPAddr).Port
	return l.Close()
}

func (c *cockroach) command() *exec.Cmd {
	//nolint:gosec,noctx // the program is the one asked for; it ends by Stop
	cmd := exec.Command(c.binary, "start-single-node", "--insecure", "--store="+c.store,
		"--listen-addr=127.0.0.1:"+strconv.Itoa(c.port), "--http-addr=127.0.0.1:0")
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "COCKROACH_SKIP_ENABLING_DIAGNOSTIC_REPORTING=true")
	return cmd
}

// settings turn off the admission control, whose queues have been seen to stand still for good on a machine that others keep busy.
func (*cockroach) settings() []string {
	return []string{
		"SET CLUSTER SETTING admission.kv.enabled = false",
		"SET CLUSTER SETTING admission.sql_kv_response.enabled = false",
		"SET CLUSTER SETTING admission.sql_sql_response.enabled = false",
	}
}

func (c *cockroach) url(database string) string {
	if database == "" {
		database = "defaultdb"
	}
	u := url.URL{
		Scheme: "postgres", User: url.User("root"), Host: "127.0.0.1:" + strconv.Itoa(c.port),
		Path: "/" + database, RawQuery: "sslmode=disable",
	}
	return u.String()
}

func (c *cockroach) stop() (syscall.Signal, []child.Step) {
	return syscall.SIGKILL, []child.Step{{Signal: syscall.SIGTERM, Wait: stopPolite}}
}

func (c *cockroach) remove() {}
