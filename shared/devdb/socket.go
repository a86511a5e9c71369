package devdb

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// PostgreSQL names its socket by a port, though there is none.
const (
	socketPort   = "5432"
	socketName   = ".s.PGSQL." + socketPort
	socketPrefix = "/tmp/modelgate-socket-" // of the short directories
)

// socketDir makes an empty directory for the socket that only the server's user may enter: beside the data, or in /tmp
// when that path is too long for a socket's address.
func (p *postgres) socketDir() error {
	if p.socket == "" {
		if err := p.placeSocket(); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(p.socket); err != nil {
		return fmt.Errorf("clear the socket's directory: %w", err)
	}
	if err := os.Mkdir(p.socket, 0o700); err != nil {
		return fmt.Errorf("make the socket's directory: %w", err)
	}
	return p.own(p.socket)
}

func (p *postgres) placeSocket() error {
	note := filepath.Join(p.o.Dir, "socket.path")
	if old, err := os.ReadFile(note); err == nil && strings.HasPrefix(string(old), socketPrefix) {
		_ = os.RemoveAll(string(old)) // of a run that was killed
		_ = os.Remove(note)
	}
	p.socket = filepath.Join(filepath.Dir(p.data), "socket")
	if len(p.socket)+1+len(socketName) <= socketPathMax && !strings.ContainsAny(p.socket, `,"`) {
		return nil
	}
	dir, err := os.MkdirTemp("/tmp", filepath.Base(socketPrefix))
	if err != nil {
		return fmt.Errorf("make a short directory for the socket: %w", err)
	}
	p.socket, p.away = dir, true
	if err := os.WriteFile(note, []byte(dir), 0o600); err != nil {
		return fmt.Errorf("note the socket's directory: %w", err)
	}
	return nil
}
