package quota

import (
	"io"
	"log/slog"
	"strings"

	"github.com/hashicorp/go-hclog"
)

// raftLines puts raft's warnings into the log.
type raftLines struct{ log *slog.Logger }

// Write implements io.Writer. Raft writes one line at a time.
func (r raftLines) Write(b []byte) (int, error) {
	line := string(b)
	for _, level := range []string{"[WARN]", "[ERROR]"} {
		if _, text, found := strings.Cut(line, level); found {
			r.log.Warn("raft", slog.String("line", strings.TrimSpace(text)))
		}
	}
	return len(b), nil
}

var _ io.Writer = raftLines{}

func raftLogger(to raftLines) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{Name: "raft-net", Output: to, Level: hclog.Warn})
}
