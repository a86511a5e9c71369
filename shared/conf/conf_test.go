package conf_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"modelgate.internal/shared/conf"
)

type config struct {
	Listen string                 `conf:"listen" yaml:"listen" default:"127.0.0.1:80" help:"address to listen on"`
	Drain  time.Duration          `conf:"drain_time" yaml:"drain_time" default:"5s" help:"time to finish streams"`
	Count  int                    `conf:"count" yaml:"count"`
	On     bool                   `conf:"on" yaml:"on"`
	Token  conf.Secret            `conf:"token" yaml:"token"`
	Keys   map[string]conf.Secret `conf:"keys" yaml:"keys"`
}

func load(t *testing.T, file string, env map[string]string, args ...string) (config, []string, error) {
	t.Helper()
	if file != "" {
		path := filepath.Join(t.TempDir(), "c.yaml")
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append([]string{"-config", path}, args...)
	}
	var cfg config
	rest, err := conf.Load(&cfg, conf.Options{
		Name: "t", EnvPrefix: "T", Args: args, Out: &bytes.Buffer{},
		Lookup: func(name string) (string, bool) { s, ok := env[name]; return s, ok },
	})
	return cfg, rest, err
}

func TestLaterSourcesWin(t *testing.T) {
	file := "listen: file\ndrain_time: 1m\ncount: 1\nkeys:\n  chat: literal\n"
	cfg, rest, err := load(t, file, map[string]string{"T_LISTEN": "env", "T_COUNT": "2"}, "-listen", "flag", "--on=true", "serve", "x")
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Listen != "flag" || cfg.Count != 2 || cfg.Drain != time.Minute || !cfg.On || strings.Join(rest, " ") != "serve x" {
		t.Errorf("got %+v, rest %v", cfg, rest)
	}
	if v, err := cfg.Keys["chat"].Value(); err != nil || v != "literal" {
		t.Errorf("keys.chat = %q, %v", v, err)
	}
	if cfg, _, _ := load(t, "", nil); cfg.Listen != "127.0.0.1:80" || cfg.Drain != 5*time.Second {
		t.Errorf("defaults: got %+v", cfg)
	}
}

func TestErrorsNameTheirSource(t *testing.T) {
	tests := []struct {
		file string
		env  map[string]string
		args []string
		want string
	}{
		{file: "lisen: x\n", want: "unknown field"},
		{env: map[string]string{"T_DRAIN_TIME": "soon"}, want: "environment T_DRAIN_TIME"},
		{args: []string{"-count", "many"}, want: "flag -count"},
		{args: []string{"-config", "/does/not/exist"}, want: "no such file"},
		{args: []string{"-nope"}, want: "not defined"},
	}
	for _, tt := range tests {
		_, _, err := load(t, tt.file, tt.env, tt.args...)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: got %v, want %q in it", tt, err, tt.want)
		}
	}
}

func TestHelpListsEverySetting(t *testing.T) {
	var out bytes.Buffer
	_, err := conf.Load(&config{}, conf.Options{Name: "t", EnvPrefix: "T", Args: []string{"--help"}, Out: &out, Usage: "t serves"})
	if !errors.Is(err, flag.ErrHelp) {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{"t serves", "-listen", "T_DRAIN_TIME", "time to finish streams (default 5s)", "-config"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("help lacks %q:\n%s", want, out.String())
		}
	}
}

func TestSecretPrintsItsSourceOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	if err := os.WriteFile(path, []byte("hunter2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("T_SECRET", "hunter2")
	for _, text := range []string{"file:" + path, "env:T_SECRET", "hunter2"} {
		s := conf.NewSecret(text)
		if v, err := s.Value(); err != nil || v != "hunter2" {
			t.Errorf("%s: value %q, err %v", text, v, err)
		}
		if printed := fmt.Sprintf("%v %+v %#v %s", s, s, s, s); strings.Contains(printed, "hunter2") {
			t.Errorf("prints its value: %s", printed)
		}
	}
	if _, err := conf.NewSecret("env:T_NOT_SET").Value(); err == nil {
		t.Error("a missing variable is no error")
	}
}
