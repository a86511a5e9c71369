package devdb

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"modelgate.internal/shared/child"
)

// superuser owns every database of a private PostgreSQL. It has no password: who may enter the socket's directory may connect.
const superuser = "modelgate"

// postgres is a private PostgreSQL on a unix socket.
type postgres struct {
	o      Options
	bin    string
	as     *syscall.Credential // nil unless we are root
	data   string
	socket string // directory
	away   bool   // the socket's directory lies outside of Options.Dir
}

// newPostgres takes the preferred installation, or the one that the existing data needs.
func newPostgres(o Options, found []installation) (*postgres, error) {
	p := &postgres{o: o, as: unprivileged()}
	if p.as != nil {
		var err error
		if found, err = enterable(found, p.as); err != nil {
			return nil, err
		}
	}
	home, err := p.home()
	if err != nil {
		return nil, err
	}
	p.data = filepath.Join(home, "postgres")
	p.bin = found[0].bin

	text, err := os.ReadFile(filepath.Join(p.data, "PG_VERSION"))
	if err != nil {
		return p, nil //nolint:nilerr // no data yet
	}
	major, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return nil, fmt.Errorf("%s states no PostgreSQL version: delete %s to begin anew", filepath.Join(p.data, "PG_VERSION"), p.data)
	}
	i := slices.IndexFunc(found, func(i installation) bool { return i.major == major })
	if i < 0 {
		return nil, fmt.Errorf("the data in %s belongs to PostgreSQL %d, and only PostgreSQL %d is here: "+
			"set PG_BINDIR to the programs of version %d, or delete that directory to begin anew", p.data, major, found[0].major, major)
	}
	p.bin = found[i].bin
	return p, nil
}

// prepare creates what is missing and clears up after a crash.
func (p *postgres) prepare(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(p.data, "PG_VERSION")); err != nil {
		if err := p.initialize(ctx); err != nil {
			return err
		}
	}
	if err := p.clearLeftover(ctx); err != nil {
		return err
	}
	return p.socketDir()
}

// initialize makes the data directory: aside, then moved into place, so that an interrupted one is never taken for data.
func (p *postgres) initialize(ctx context.Context) error {
	fresh := p.data + ".new"
	if err := os.RemoveAll(fresh); err != nil {
		return fmt.Errorf("clear an unfinished database: %w", err)
	}
	if err := os.Mkdir(fresh, 0o700); err != nil {
		return fmt.Errorf("make the data directory: %w", err)
	}
	if err := p.own(fresh); err != nil {
		return err
	}
	args := []string{
		"--pgdata=" + fresh, "--username=" + superuser, "--auth-local=trust", "--auth-host=reject",
		"--encoding=UTF8", "--locale=C", "--no-instructions",
	}
	if !p.o.Fsync {
		args = append(args, "--no-sync")
	}
	//nolint:gosec // the program is the one found
	cmd := exec.CommandContext(ctx, filepath.Join(p.bin, "initdb"), args...)
	cmd.Dir, cmd.Env = "/", environ()
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.as}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("run initdb: %w:\n%s", err, strings.TrimSpace(string(out)))
	}
	if err := os.Rename(fresh, p.data); err != nil {
		return fmt.Errorf("put the data directory in place: %w", err)
	}
	return nil
}

func (p *postgres) command() *exec.Cmd {
	settings := []string{
		"listen_addresses=", "port=" + socketPort, "unix_socket_directories=" + p.socket, "unix_socket_permissions=0700",
		"max_connections=" + strconv.Itoa(connectionsMax), "default_transaction_isolation=serializable",
		"timezone=UTC", "log_timezone=UTC", "log_destination=stderr", "logging_collector=off", "external_pid_file=",
	}
	if !p.o.Fsync {
		settings = append(settings, "fsync=off", "synchronous_commit=off", "full_page_writes=off", "shared_buffers=32MB")
	}
	args := []string{"-D", p.data}
	for _, s := range settings {
		args = append(args, "-c", s)
	}
	cmd := exec.Command(filepath.Join(p.bin, "postgres"), args...) //nolint:gosec,noctx // the program is the one found; it ends by Stop
	cmd.Dir, cmd.Env = "/", environ()
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.as}
	return cmd
}

// environ is ours without the variables that steer PostgreSQL's own programs.
func environ() []string {
	return slices.DeleteFunc(os.Environ(), func(entry string) bool { return strings.HasPrefix(entry, "PG") })
}

func (*postgres) settings() []string { return nil }

func (p *postgres) url(database string) string {
	if database == "" {
		database = "postgres"
	}
	query := url.Values{"host": {p.socket}, "port": {socketPort}, "sslmode": {"disable"}}
	u := url.URL{Scheme: "postgres", User: url.User(superuser), Path: "/" + database, RawQuery: query.Encode()}
	return u.String()
}

// stop: SIGINT cuts all connections and writes a checkpoint, SIGQUIT leaves the checkpoint to the next start, which
// costs nothing where the data is thrown away.
func (p *postgres) stop() (syscall.Signal, []child.Step) {
	if !p.o.Fsync {
		return syscall.SIGQUIT, []child.Step{{Signal: syscall.SIGQUIT, Wait: stopFirm}}
	}
	return syscall.SIGINT, []child.Step{{Signal: syscall.SIGINT, Wait: stopPolite}, {Signal: syscall.SIGQUIT, Wait: stopFirm}}
}

func (p *postgres) remove() {
	if p.away {
		_ = os.RemoveAll(p.socket)
		_ = os.Remove(filepath.Join(p.o.Dir, "socket.path"))
	}
}

// home is the directory for the data: Options.Dir, or one below /var/tmp when nobody but root could enter that.
func (p *postgres) home() (string, error) {
	if p.as == nil {
		return p.o.Dir, nil
	}
	closed := closedTo(p.o.Dir, p.as)
	if closed == "" {
		return p.o.Dir, nil
	}
	home, err := elsewhere(p.o.Dir)
	if err != nil {
		return "", err
	}
	p.o.Log.Warn("database files are kept elsewhere, since PostgreSQL does not run as root and only root may enter the directory",
		slog.String("closed", closed), slog.String("data", home))
	return home, nil
}
