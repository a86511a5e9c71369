package stack_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"modelgate.internal/bench/stack"
	"modelgate.internal/shared/wire"
)

// TestMain lets this test binary stand in for the programs of the stack: the tests link to it by their names.
func TestMain(m *testing.M) {
	fakes := map[string]func() error{
		"controlplane": fakeControl, "dataplane": fakeNode, "mockmodel": fakeModel, "mailbox": fakeMailbox, "stripesim": fakeStripe, "stack": fakeStack,
	}
	fake, ok := fakes[filepath.Base(os.Args[0])]
	if !ok {
		os.Exit(m.Run())
	}
	fmt.Fprintln(os.Stderr, "here is", strings.Join(os.Args[1:], " "))
	if err := fake(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// fakeStack is a program that runs a stack until it is told to end.
func fakeStack() error {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	base, err := stack.FreePortBase(ctx, 1)
	if err != nil {
		return err
	}
	s, err := stack.Start(ctx, stack.Options{Dir: os.Args[1], Bin: filepath.Dir(os.Args[0]), PortBase: base, Out: os.Stderr})
	if err != nil {
		return err
	}
	s.Banner(os.Stdout)
	<-ctx.Done()
	s.Stop()
	return nil
}

type fakeConfig struct {
	Listen        string `yaml:"listen"`
	MetricsListen string `yaml:"metrics_listen"`
	DatabaseURL   string `yaml:"database_url"`
	KeyPepper     string `yaml:"key_pepper"`
	Name          string `yaml:"name"`
}

// config is the configuration that "-config FILE COMMAND" names.
func config() (c fakeConfig, command string, err error) {
	text, err := os.ReadFile(os.Args[2])
	if err == nil {
		err = yaml.Unmarshal(text, &c)
	}
	return c, os.Args[3], err
}

// fakeControl keeps accounts and keys in a file beside its configuration.
func fakeControl() error {
	if os.Args[1] == "keygen" {
		for _, name := range []string{"key_encryption_key", "key_pepper", "session_key", "join_token"} {
			if err := os.WriteFile(filepath.Join(os.Args[3], name), []byte(name), 0o600); err != nil {
				return err
			}
		}
		return nil
	}
	c, command, err := config()
	if err != nil {
		return err
	}
	if !strings.HasPrefix(c.DatabaseURL, "postgres://") || !strings.HasPrefix(c.KeyPepper, "file:/") {
		return fmt.Errorf("bad configuration: %+v", c)
	}
	if command == "migrate" {
		return nil
	}
	if os.Getenv("FAKE_BROKEN") == "controlplane" {
		return errors.New("the fake is broken")
	}
	store := &fakeStore{file: filepath.Join(filepath.Dir(os.Args[2]), "fake.json")}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /dev/auth/register", store.register)
	mux.HandleFunc("POST /dev/auth/login", store.login)
	mux.HandleFunc("POST /dev/apps", store.createApp)
	mux.HandleFunc("GET /dev/apps/{app}", store.app)
	mux.HandleFunc("POST /dev/apps/{app}/keys", store.createKey)
	return serve("controlplane", c, mux)
}

func fakeNode() error {
	c, command, err := config()
	if err != nil {
		return err
	}
	if command == "quota" {
		fmt.Println("token")
		return nil
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/models", func(http.ResponseWriter, *http.Request) {})
	return serve(c.Name, c, mux)
}

func fakeModel() error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
	return serve("mockmodel", fakeConfig{Listen: os.Args[2]}, mux)
}

func fakeMailbox() error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
	return serve("mailbox", fakeConfig{Listen: os.Args[4]}, mux)
}

func fakeStripe() error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
	return serve("stripesim", fakeConfig{Listen: os.Args[2]}, mux)
}

// serve answers until SIGTERM, and then notes its end in the file that FAKE_ORDER names.
func serve(name string, c fakeConfig, mux *http.ServeMux) error {
	mux.HandleFunc("GET /readyz", func(http.ResponseWriter, *http.Request) {})
	for _, address := range []string{c.Listen, c.MetricsListen} {
		if address != "" {
			go func() {
				fmt.Fprintln(os.Stderr, http.ListenAndServe(address, mux))
				os.Exit(1)
			}()
		}
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	<-ctx.Done()
	if os.Getenv("FAKE_ORDER") == "" {
		return nil
	}
	file, err := os.OpenFile(os.Getenv("FAKE_ORDER"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	time.Sleep(10 * time.Millisecond)
	_, err = fmt.Fprintln(file, name)
	return err
}

type fakeStore struct {
	mu   sync.Mutex
	file string
	data struct {
		Passwords map[string]string
		Keys      []wire.Key
	}
}

func (s *fakeStore) read() {
	s.data.Passwords, s.data.Keys = map[string]string{}, nil
	if text, err := os.ReadFile(s.file); err == nil {
		_ = json.Unmarshal(text, &s.data)
	}
}

func (s *fakeStore) answer(w http.ResponseWriter, v any) {
	text, _ := json.Marshal(s.data)
	_ = os.WriteFile(s.file, text, 0o600)
	_ = json.NewEncoder(w).Encode(v)
}

func (s *fakeStore) register(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.read()
	var body wire.RegisterRequest
	_ = json.NewDecoder(r.Body).Decode(&body)
	if s.data.Passwords[body.Email] != "" {
		http.Error(w, "taken", http.StatusConflict)
		return
	}
	s.data.Passwords[body.Email] = body.Password
	s.answer(w, wire.Session{AccessToken: "token"})
}

func (s *fakeStore) login(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.read()
	var body wire.LoginRequest
	_ = json.NewDecoder(r.Body).Decode(&body)
	if s.data.Passwords[body.Email] != body.Password {
		http.Error(w, "wrong", http.StatusUnauthorized)
		return
	}
	s.answer(w, wire.Session{AccessToken: "token"})
}

func (s *fakeStore) createApp(w http.ResponseWriter, _ *http.Request) {
	s.answer(w, wire.App{AppID: "app-1"})
}

func (s *fakeStore) app(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.read()
	s.answer(w, wire.AppDetail{App: wire.App{AppID: r.PathValue("app"), Active: true}, Keys: s.data.Keys})
}

func (s *fakeStore) createKey(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.read()
	id := fmt.Sprintf("key-%d", len(s.data.Keys)+1)
	s.data.Keys = append(s.data.Keys, wire.Key{KeyID: id, Status: "active"})
	s.answer(w, wire.NewKey{KeyID: id, Key: "svc_test_" + id})
}
