package compare

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"modelgate.internal/shared/child"
)

// mock is the simulator. It keeps its address when it is started again with other answers.
type mock struct {
	program, address, dir string
	args                  []string
	proc                  *child.Process
}

// answers are the simulator's settings.
type answers struct {
	events     int
	interval   time.Duration // 0 for no gap
	batch      int
	firstDelay time.Duration
}

func (a answers) args() []string {
	n := strconv.Itoa
	return []string{
		"-fast", "-fast-stamp", "-fast-events", n(a.events), "-fast-interval", a.interval.String(), "-fast-batch", n(max(a.batch, 1)),
		"-fast-event-bytes", n(eventBytes), "-fast-unary-bytes", n(unaryBytes), "-first-token-delay", a.firstDelay.String(),
	}
}

// play makes the simulator answer so. It is started again only if it does not already.
func (m *mock) play(ctx context.Context, a answers) error {
	args := a.args()
	if m.proc != nil && m.proc.Running() && slices.Equal(args, m.args) {
		return nil
	}
	m.stop()
	log, err := os.OpenFile(filepath.Join(m.dir, "mockmodel.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("start the simulator: %w", err)
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(m.program, append([]string{"-listen", m.address}, args...)...) //nolint:gosec,noctx // our program; it ends by stop
	cmd.Stdout, cmd.Stderr = log, log
	if m.proc, err = child.Start(cmd, syscall.SIGKILL); err != nil {
		return fmt.Errorf("start the simulator: %w: run `make build`", err)
	}
	m.args = args
	for begun := time.Now(); ; {
		if _, err = m.counters(ctx); err == nil {
			pauseFor(ctx, mockRest)
			return nil
		}
		if !m.proc.Running() || time.Since(begun) > callWait || ctx.Err() != nil {
			text, _ := os.ReadFile(log.Name())
			return fmt.Errorf("start the simulator: %w: %s", errors.Join(err, ctx.Err()), bytes.TrimSpace(text))
		}
		pauseFor(ctx, quietPoll)
	}
}

func (m *mock) stop() {
	if m.proc != nil {
		m.proc.Stop(child.Step{Signal: syscall.SIGTERM, Wait: stopWait})
		m.proc = nil
	}
}

// counters are what the simulator has done.
type counters struct {
	Open     int64 `json:"open"`
	Requests int64 `json:"requests"`
}

func (m *mock) counters(ctx context.Context) (counters, error) {
	var c counters
	body, err := call(ctx, http.MethodGet, "http://"+m.address+"/_mock/open", "", nil)
	if err != nil {
		return c, err
	}
	return c, json.Unmarshal(body, &c)
}

// quiet waits until no call is open and says after what time that was. It gives up after a while.
func (m *mock) quiet(ctx context.Context, since time.Time, wait, poll time.Duration) (took time.Duration, left int64, err error) {
	for {
		c, err := m.counters(ctx)
		took = time.Since(since)
		if err != nil || c.Open == 0 || took > wait {
			return took, c.Open, err
		}
		pauseFor(ctx, poll)
	}
}

// call makes one HTTP call; an answer other than success is an error.
func call(ctx context.Context, method, url, bearer string, body []byte) ([]byte, error) {
	return callUpTo(ctx, method, url, bearer, body, answerBytesMax)
}

// fetch reads a large answer.
func fetch(ctx context.Context, url string, limit int64) ([]byte, error) {
	return callUpTo(ctx, http.MethodGet, url, "", nil, limit)
}

func callUpTo(ctx context.Context, method, url, bearer string, body []byte, limit int64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, callWait)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if bearer != "" {
		req.Header.Set("Authorization", "Bearer "+bearer)
	}
	if len(body) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(res.Body, limit))
	if err == nil && res.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s: status %d, %s", method, req.URL.Path, res.StatusCode, bytes.TrimSpace(text))
	}
	return text, err
}

func pauseFor(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
