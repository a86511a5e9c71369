package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"modelgate.internal/shared/conf"
	"modelgate.internal/shared/testkit"
)

// load returns the configuration of a file.
func load(t *testing.T, text string) *Config {
	t.Helper()
	path := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var cfg Config
	if _, err := conf.Load(&cfg, conf.Options{
		Name: "dataplane", EnvPrefix: "T", Args: []string{"-config", path}, Out: io.Discard,
		Lookup: func(string) (string, bool) { return "", false },
	}); err != nil {
		t.Fatal(err)
	}
	return &cfg
}

func TestCheckExplainsWithoutSecrets(t *testing.T) {
	t.Setenv("T_CHAT_KEY", "sk-hunter2")
	cfg := load(t, "name: eu-1\ndata_dir: "+t.TempDir()+"\njoin_token: hunter2\ncredentials:\n  chat: env:T_CHAT_KEY\n")
	var out bytes.Buffer
	if err := check(&out, cfg); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"eu-1", "127.0.0.1:8081 (listen)", "join token: set in the configuration", "chat: env:T_CHAT_KEY", "the node joins first", "TLS                         off"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "hunter2") {
		t.Errorf("a secret is shown:\n%s", out.String())
	}
}

func TestCheckNamesTheSettings(t *testing.T) {
	cfg := load(t, "data_dir: "+t.TempDir()+"\nlisten: nowhere\ncontrol_url: control\nbody_memory: lots\ngomemlimit: 1XB\nconns_max: 0\n"+
		"call_time: 0s\nwrite_time: 1s\nupload_time: 0s\ntls_cert_file: only.pem\nlog_level: loud\ncredentials:\n  chat: env:T_NOT_SET\n")
	err := check(io.Discard, cfg)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"listen: ", "control_url", "join_token", "body_memory", "gomemlimit", "conns_max", "call_time", "write_time", "upload_time", "tls_key_file", "log level", "credentials.chat"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in\n%v", want, err)
		}
	}
}

func TestCheckExplainsTheCertificate(t *testing.T) {
	cert, key := testkit.Certificate(t, t.TempDir(), "gateway.example")
	cfg := load(t, "data_dir: "+t.TempDir()+"\njoin_token: x\ntls_cert_file: "+cert+"\ntls_key_file: "+key+"\n")
	var out bytes.Buffer
	if err := check(&out, cfg); err != nil || !strings.Contains(out.String(), "both hosts, for gateway.example; expires ") {
		t.Errorf("got %v\n%s", err, out.String())
	}
}
