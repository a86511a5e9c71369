package rivals

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"text/template"
	"time"

	"modelgate.internal/shared/child"
)

//go:embed *.tmpl
var templates embed.FS

// ErrMissing says that a rival's program is not on this machine.
var ErrMissing = errors.New("not installed")

// Rival is a proxy that can be run.
type Rival struct {
	Name    string // "nginx"
	Package string // Debian's name for it
	// Lacks is what its standard build cannot do of what is compared, empty for nothing.
	Lacks string

	program, template, file string
	check, run              []string       // arguments; the configuration's path follows
	polite                  syscall.Signal // ends it at once, children included
}

// All lists the rivals, the reference first.
func All() []Rival {
	return []Rival{
		{
			Name: "nginx", Package: "nginx-light", program: "nginx", template: "nginx.conf.tmpl", file: "nginx.conf",
			check: []string{"-t", "-c"}, run: []string{"-c"}, polite: syscall.SIGTERM,
		},
		{
			Name: "haproxy", Package: "haproxy", program: "haproxy", template: "haproxy.cfg.tmpl", file: "haproxy.cfg",
			check: []string{"-c", "-f"}, run: []string{"-db", "-f"}, polite: syscall.SIGTERM,
		},
		{
			Name: "caddy", Package: "caddy", program: "caddy", template: "Caddyfile.tmpl", file: "Caddyfile", Lacks: "no limit",
			check: []string{"validate", "--adapter", "caddyfile", "--config"}, run: []string{"run", "--adapter", "caddyfile", "--config"}, polite: syscall.SIGTERM,
		},
	}
}

// Settings is what a configuration needs to know.
type Settings struct {
	Dir      string // for everything the rival writes; absolute
	Listen   string // address of its own
	Upstream string // address of the model server
	Key      string // the one key that is let in
}

// values is what the templates see.
type values struct {
	Settings

	Host, Port                           string // of Listen
	Root                                 bool
	CPUs                                 int
	PerSecond                            int
	FilesMax, ConnectionsMax, ProxiedMax int
}

// Path is the rival's program.
func (r Rival) Path() (string, error) {
	if path, err := exec.LookPath(r.program); err == nil {
		return path, nil
	}
	// Debian keeps servers where a user's PATH does not look.
	for _, dir := range []string{"/usr/sbin", "/usr/local/sbin"} {
		if path, err := exec.LookPath(filepath.Join(dir, r.program)); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s: %w", r.program, ErrMissing)
}

// Version is the line in which the program says what it is.
func (r Rival) Version(ctx context.Context) string {
	path, err := r.Path()
	if err != nil {
		return ""
	}
	flag := "-v"
	if r.program == "caddy" {
		flag = "version"
	}
	ctx, cancel := context.WithTimeout(ctx, checkWait)
	defer cancel()
	out, _ := exec.CommandContext(ctx, path, flag).CombinedOutput() //nolint:gosec // one of three programs
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return line
}

// Configure writes the rival's configuration and returns its path.
func (r Rival) Configure(s Settings) (string, error) {
	files, err := filesMax()
	if err != nil {
		return "", err
	}
	host, port, err := net.SplitHostPort(s.Listen)
	if err != nil {
		return "", fmt.Errorf("configure %s: %w", r.Name, err)
	}
	v := values{
		Settings: s, Host: host, Port: port, Root: os.Geteuid() == 0, CPUs: runtime.NumCPU(), PerSecond: perSecond,
		FilesMax: files, ConnectionsMax: files - filesSpare, ProxiedMax: (files - filesSpare) / 2,
	}
	t, err := template.ParseFS(templates, r.template)
	if err != nil {
		return "", err
	}
	var text bytes.Buffer
	if err := t.Execute(&text, v); err != nil {
		return "", fmt.Errorf("configure %s: %w", r.Name, err)
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return "", fmt.Errorf("configure %s: %w", r.Name, err)
	}
	path := filepath.Join(s.Dir, r.file)
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		return "", fmt.Errorf("configure %s: %w", r.Name, err)
	}
	return path, nil
}

// Check has the program itself judge a configuration.
func (r Rival) Check(ctx context.Context, config string) error {
	path, err := r.Path()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, checkWait)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, append(r.check[:len(r.check):len(r.check)], config)...) //nolint:gosec // one of three programs
	cmd.Env = environ(filepath.Dir(config))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s refuses its configuration: %w: %s", r.Name, err, bytes.TrimSpace(out))
	}
	return nil
}

// Start runs the rival and returns when it accepts connections.
func (r Rival) Start(ctx context.Context, s Settings) (*child.Process, error) {
	path, err := r.Path()
	if err != nil {
		return nil, err
	}
	config, err := r.Configure(s)
	if err != nil {
		return nil, err
	}
	out, err := os.Create(filepath.Join(s.Dir, "out.log"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.Close() }()
	cmd := exec.Command(path, append(r.run[:len(r.run):len(r.run)], config)...) //nolint:gosec,noctx // one of three programs; it ends by Stop
	cmd.Stdout, cmd.Stderr, cmd.Env = out, out, environ(s.Dir)
	p, err := child.Start(cmd, r.polite)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", r.Name, err)
	}
	if err := accepts(ctx, p, s.Listen); err != nil {
		r.Stop(p)
		text, _ := os.ReadFile(out.Name())
		return nil, fmt.Errorf("start %s: %w: %s", r.Name, err, bytes.TrimSpace(text))
	}
	return p, nil
}

// Stop ends a rival and waits for it.
func (r Rival) Stop(p *child.Process) { p.Stop(child.Step{Signal: r.polite, Wait: stopWait}) }

// accepts waits until a process takes connections.
func accepts(ctx context.Context, p *child.Process, address string) error {
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	for {
		var d net.Dialer
		c, err := d.DialContext(ctx, "tcp", address)
		if err == nil {
			return c.Close()
		}
		select {
		case <-p.Done():
			return fmt.Errorf("it ended: %w", errors.Join(p.Err(), err))
		case <-ctx.Done():
			return fmt.Errorf("it does not listen on %s: %w", address, err)
		case <-time.After(startPoll):
		}
	}
}

// environ keeps what a rival stores for itself inside its directory.
func environ(dir string) []string {
	return append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir)
}

// filesMax is the number of descriptors that a process may have.
func filesMax() (int, error) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, fmt.Errorf("read the limit of open files: %w", err)
	}
	files := int(min(limit.Max, filesUsed))
	if files < filesLeast {
		return 0, fmt.Errorf("%d open files are allowed, %d are needed: raise `ulimit -n`", files, filesLeast)
	}
	return files, nil
}
