package measure

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// slidingCounter is the sliding-window counter as it is commonly published: the calls of this minute, and those of the last one by the part
// of it that the window still covers. KEYS: this minute's counter, the last one's. ARGV: limit, window in milliseconds, milliseconds since
// this minute began.
const slidingCounter = `
local now = tonumber(redis.call('GET', KEYS[1]) or '0')
local last = tonumber(redis.call('GET', KEYS[2]) or '0')
local limit, window, since = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
if now + last * (window - since) / window >= limit then return 0 end
if redis.call('INCR', KEYS[1]) == 1 then redis.call('PEXPIRE', KEYS[1], 2 * window) end
return 1`

// redis asks a server over one connection; callers share it, and their questions wait in it together.
type redis struct {
	conn net.Conn
	sha  string

	mu    sync.Mutex
	out   *bufio.Writer
	asked []chan string
}

func dialRedis(ctx context.Context, address string) (*redis, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	r := &redis{conn: conn, out: bufio.NewWriter(conn)}
	go r.read()
	if r.sha, err = r.do("SCRIPT", "LOAD", slidingCounter); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return r, nil
}

// do sends a command and returns its answer.
func (r *redis) do(words ...string) (string, error) {
	answer := make(chan string, 1)
	r.mu.Lock()
	fmt.Fprintf(r.out, "*%d\r\n", len(words))
	for _, w := range words {
		fmt.Fprintf(r.out, "$%d\r\n%s\r\n", len(w), w)
	}
	err := r.out.Flush()
	r.asked = append(r.asked, answer)
	r.mu.Unlock()
	if err != nil {
		return "", err
	}
	text, ok := <-answer
	if !ok || strings.HasPrefix(text, "-") {
		return "", fmt.Errorf("redis answers %q", text)
	}
	return text, nil
}

// read hands out answers, which come in the order of the questions: integers, errors, and strings that have a length before them.
func (r *redis) read() {
	in := bufio.NewReader(r.conn)
	for {
		line, err := in.ReadString('\n')
		if err == nil && strings.HasPrefix(line, "$") {
			line, err = in.ReadString('\n')
		}
		r.mu.Lock()
		if err != nil {
			for _, a := range r.asked {
				close(a)
			}
			r.asked = nil
			r.mu.Unlock()
			return
		}
		next := r.asked[0]
		r.asked = r.asked[1:]
		r.mu.Unlock()
		next <- strings.TrimRight(strings.TrimPrefix(line, ":"), "\r\n")
	}
}

// admit counts a call against the limit of a key, by this process's clock, as rate limiters on Redis do.
func (r *redis) admit(key string, limit int64, now time.Time) (bool, error) {
	minute := now.Unix() / 60
	since := now.UnixMilli() - minute*60_000
	answer, err := r.do("EVALSHA", r.sha, "2", fmt.Sprintf("%s:%d", key, minute), fmt.Sprintf("%s:%d", key, minute-1),
		strconv.FormatInt(limit, 10), "60000", strconv.FormatInt(since, 10))
	return answer == "1", err
}

// startRedis runs a server that keeps nothing on disk, and returns its address and process. It returns nil if the program is missing.
func startRedis(tb testing.TB) (string, *exec.Cmd) {
	tb.Helper()
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return "", nil
	}
	l, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	_, port, _ := net.SplitHostPort(address)
	server := exec.Command(program, "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no")
	server.Dir = tb.TempDir()
	if err := server.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	for range 500 {
		if c, err := (&net.Dialer{}).DialContext(tb.Context(), "tcp", address); err == nil {
			_ = c.Close()
			return address, server
		}
		time.Sleep(20 * time.Millisecond)
	}
	tb.Fatal("redis-server takes no connections")
	return "", nil
}

// The script admits the limit in a minute, and in the next one as much as the weight of the last leaves.
func TestSlidingCounter(t *testing.T) {
	address, _ := startRedis(t)
	if address == "" {
		t.Log("redis-server is not installed; the comparison will say so")
		return
	}
	r, err := dialRedis(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	minute := time.Unix(time.Now().Unix()/60*60, 0)
	count := func(now time.Time) int {
		n := 0
		for range 50 {
			ok, err := r.admit("k", 30, now)
			if err != nil {
				t.Fatal(err)
			}
			if ok {
				n++
			}
		}
		return n
	}
	if n := count(minute.Add(50 * time.Second)); n != 30 {
		t.Errorf("%d admitted", n)
	}
	if n := count(minute.Add(60 * time.Second)); n != 0 {
		t.Errorf("%d admitted as the next minute begins", n)
	}
	if n := count(minute.Add(80 * time.Second)); n != 10 {
		t.Errorf("%d admitted when a third of it is over", n)
	}
}
