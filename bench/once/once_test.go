package once

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"modelgate.internal/bench/stack"
	"modelgate.internal/bench/stack/stacktest"
	"modelgate.internal/shared/wire"
)

const (
	racers = 100
	soon   = time.Minute // wide, because the machine is shared
)

// system is two nodes and what they ask.
type system struct {
	*stack.Stack
	in    stack.Info
	model *model
	calls map[string]int64 // that the usage should have, by how they ended
}

func startSystem(t *testing.T) *system {
	t.Helper()
	m := &model{asked: map[string]int{}, gate: make(chan struct{})}
	upstream := httptest.NewServer(m)
	t.Cleanup(upstream.Close)
	o := stacktest.Options(t)
	o.ChatURL, o.ChatModel, o.OneAttempt, o.Nodes = upstream.URL+"/v1", "m", true, 2
	var err error
	if o.PortBase, err = stack.FreePortBase(t.Context(), o.Nodes); err != nil {
		t.Fatal(err)
	}
	s := stacktest.Run(t, o)
	in := s.Info()
	out, err := exec.CommandContext(t.Context(), filepath.Join(o.Bin, "controlplane"), "-config", in.ControlplaneConfig,
		"account", "set", in.Demo.Email, "--per-minute", "1000", "--per-day", "10000", "--in-flight", "1000").CombinedOutput()
	if err != nil {
		t.Fatalf("raise the limits: %v\n%s", err, out)
	}
	return &system{s, in, m, map[string]int64{}}
}

type answer struct {
	status   int
	replayed bool
	body     string
}

// call asks a node under an Idempotency-Key. Status 0 is a connection that broke.
func (s *system) call(t *testing.T, node int, id, body string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.in.Nodes[node].GatewayURL+"/api/v1/agent", strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return answer{}
	}
	req.Header.Set("Authorization", "Bearer "+s.in.Demo.Key)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", id)
	client := http.Client{Timeout: 2 * soon}
	res, err := client.Do(req)
	if err != nil {
		return answer{body: err.Error()}
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return answer{body: err.Error()}
	}
	return answer{res.StatusCode, res.Header.Get("Idempotency-Replayed") == "true", strings.ReplaceAll(string(text), ": keep-alive\n\n", "")}
}

func body(prompt string, stream bool) string {
	text, err := json.Marshal(map[string]any{"prompt": prompt, "stream": stream})
	if err != nil {
		panic(err)
	}
	return string(text)
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for begin := time.Now(); !holds(); time.Sleep(100 * time.Millisecond) {
		if time.Since(begin) > soon {
			t.Fatalf("after %s still not: %s", soon, what)
		}
	}
}

// TestCallsUnderAKeyAreMadeOnce goes from the plain repetition to the death of a node, and counts at the end.
func TestCallsUnderAKeyAreMadeOnce(t *testing.T) {
	s := startSystem(t)
	for _, stream := range []bool{false, true} {
		name := map[bool]string{false: "whole ", true: "streamed "}[stream]
		s.repeated(t, name, stream)
		s.atOnce(t, name, stream)
		s.failed(t, name, stream)
	}
	s.killed(t)
	s.counted(t)
}

func (s *system) repeated(t *testing.T, name string, stream bool) {
	prompt := name + "hello"
	first := s.call(t, 0, prompt, body(prompt, stream))
	if first.status != 200 || first.replayed || !strings.Contains(first.body, "answer") {
		t.Fatalf("first: %+v", first)
	}
	for _, node := range []int{1, 0} {
		if again := s.call(t, node, prompt, body(prompt, stream)); again.status != 200 || !again.replayed || again.body != first.body {
			t.Errorf("again: %+v, first %+v", again, first)
		}
	}
	if other := s.call(t, 1, prompt, body(prompt+"!", stream)); other.status != 409 {
		t.Errorf("another body: %+v", other)
	}
	if n := s.model.times(prompt); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
	s.calls["done"]++
	s.calls["refused"]++ // the other body
}

func (s *system) atOnce(t *testing.T, name string, stream bool) {
	prompt := name + "wait"
	answers := make(chan answer, racers)
	var done sync.WaitGroup
	for i := range racers {
		done.Go(func() { answers <- s.call(t, i%2, prompt, body(prompt, stream)) })
	}
	eventually(t, "the model is asked", func() bool { return s.model.times(prompt) > 0 })
	time.Sleep(time.Second) // so that most of them wait
	over := make(chan struct{})
	go func() { // a second call, which must not be, would pass as well
		for {
			select {
			case s.model.gate <- struct{}{}:
			case <-over:
				return
			}
		}
	}()
	done.Wait()
	close(over)
	close(answers)
	replays, first := 0, ""
	for a := range answers {
		if a.status != 200 {
			t.Errorf("one of many: %+v", a)
		}
		if a.replayed {
			replays++
		}
		if first == "" {
			first = a.body
		}
		if a.body != first {
			t.Errorf("%q and %q", a.body, first)
		}
	}
	if n := s.model.times(prompt); n != 1 || replays != racers-1 {
		t.Errorf("%sthe model was asked %d times, %d replays", name, n, replays)
	}
	s.calls["done"]++
}

func (s *system) failed(t *testing.T, name string, stream bool) {
	prompt := name + "break down"
	for n := range 2 {
		want := n + 1
		var a answer
		eventually(t, "the key is free again", func() bool { // which it becomes beside the answer of the failed call
			a = s.call(t, n, prompt, body(prompt, stream))
			return !strings.Contains(a.body, "did not end well. Send it again.")
		})
		if a.status != 502 || a.replayed || s.model.times(prompt) != want {
			t.Errorf("a call that fails for the %d. time: %+v, the model was asked %d times", want, a, s.model.times(prompt))
		}
	}
	s.calls["failed"] += 2
}

// killed is the death of a node that makes a call: whoever waits at the other makes it anew, once the claim has run out.
func (s *system) killed(t *testing.T) {
	const prompt = "wait for the end"
	request := body(prompt, false)
	cut := make(chan answer, 1)
	go func() { cut <- s.call(t, 1, prompt, request) }()
	eventually(t, "the model is asked", func() bool { return s.model.times(prompt) == 1 })
	next := make(chan answer, 1)
	go func() { next <- s.call(t, 0, prompt, request) }()
	time.Sleep(time.Second)
	if err := syscall.Kill(s.Pid(s.in.Nodes[1].Name), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if a := <-cut; a.status != 0 {
		t.Errorf("the call of the dead node was answered: %+v", a)
	}
	eventually(t, "the model is asked again", func() bool { return s.model.times(prompt) == 2 })
	s.model.gate <- struct{}{}
	second := <-next
	if second.status != 200 || second.replayed || !strings.Contains(second.body, "answer 2") {
		t.Errorf("the next: %+v", second)
	}
	eventually(t, "the dead node answers again", func() bool {
		a := s.call(t, 1, prompt, request)
		return a.status == 200 && a.replayed && a.body == second.body
	})
	if n := s.model.times(prompt); n != 2 {
		t.Errorf("the model was asked %d times", n)
	}
	s.calls["node_crash"]++
	s.calls["done"]++
}

// counted holds the log of requests against what happened: no replay is in it.
func (s *system) counted(t *testing.T) {
	session := get[wire.Session](t, s.in.PortalURL+"/dev/auth/login", "", `{"email":"`+s.in.Demo.Email+`","password":"`+s.in.Demo.Password+`"}`)
	var got map[string]int64
	same := func() bool {
		page := get[wire.RequestPage](t, s.in.PortalURL+"/dev/apps/"+s.in.Demo.AppID+"/requests?limit=100", session.AccessToken, "")
		got = map[string]int64{}
		for _, r := range page.Requests {
			got[r.End]++
		}
		for end, want := range s.calls {
			if got[end] != want {
				return false
			}
		}
		return len(got) == len(s.calls)
	}
	begin := time.Now()
	for !same() {
		if time.Since(begin) > soon {
			t.Fatalf("the usage has %v, want %v", got, s.calls)
		}
		time.Sleep(500 * time.Millisecond)
	}
	time.Sleep(3 * time.Second) // more might come
	if !same() {
		t.Errorf("the usage has %v, want %v", got, s.calls)
	}
	t.Logf("usage: %v", got)
}

func get[T any](t *testing.T, address, bearer, text string) (v T) {
	t.Helper()
	method := http.MethodGet
	if text != "" {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if bearer != "" {
		req.Header.Set("Authorization", "Bearer "+bearer)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(&v); err != nil || res.StatusCode != 200 {
		t.Fatalf("%s: %d %v", address, res.StatusCode, err)
	}
	return v
}
