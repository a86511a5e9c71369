package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

func TestAuditVerify(t *testing.T) {
	file, _, _, _ := setup(t)
	mustRun(t, "-config", file, "migrate")
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte("correct horse battery"), 0o600); err != nil {
		t.Fatal(err)
	}
	mustRun(t, "-config", file, "account", "create", "ada@example.com", "--name", "Ada", "--password-file", password)
	mustRun(t, "-config", file, "account", "set", "ada@example.com", "--plan", "pro")
	if out := mustRun(t, "-config", file, "audit", "verify"); out != "logs     2\nrecords  2\nbroken   0\n" {
		t.Errorf("intact: %s", out)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	url := regexp.MustCompile(`database_url: "(.*)"`).FindSubmatch(text)
	conn, err := pgx.Connect(t.Context(), string(url[1]))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), `UPDATE audit_records SET after = replace(after, 'pro', 'free') WHERE operation = 'operator account set'`); err != nil {
		t.Fatal(err)
	}
	out, _, err := runCommand(t.Context(), "-config", file, "audit", "verify")
	if err == nil || !strings.Contains(out, "record 2") || !strings.Contains(out, "broken   1") {
		t.Errorf("altered: %v %s", err, out)
	}
}
