package canary

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base32"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/jackc/pgx/v5"

	"modelgate.internal/bench/stack/stacktest"
)

// What is planted from outside.
const (
	firstPassword    = "canary-first-password-5Hq2"
	secondPassword   = "canary-second-password-8Kd7"
	wrongPassword    = "canary-wrong-password-3Jf9"
	imagesCredential = "canary-images-credential-7Zx4"
	langCredential   = "canary-translate-credential-2Lm6"
	smtpPassword     = "canary-smtp-password-9Wb1"
)

// prompt is what callers ask. Model servers fail and repeat it; that must not bring it into a log.
const prompt = "canary-prompt-4Vc6 in a picture?"

// system is a stack with everything that is kept of a run.
type system struct {
	dir, bin string
	printed  []byte // by operator commands
	c        *caller
}

// echoing is a model server that fails and repeats what it was sent.
func echoing(t *testing.T) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprintf(w, `{"error":{"message":%q}}`, fmt.Sprint(r.Header, string(body)))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func start(t *testing.T) *system {
	t.Helper()
	o := stacktest.Options(t)
	o.LogLevel = "debug"
	server := echoing(t)
	o.Env = []string{
		"MODELGATE_CONTROLPLANE_METRICS_ADMIN=true",
		"MODELGATE_IMAGES_URL=" + server, "MODELGATE_IMAGES_KEY=" + imagesCredential, "MODELGATE_IMAGES_MODEL=m",
		"MODELGATE_TRANSLATE_URL=" + server, "MODELGATE_TRANSLATE_KEY=" + langCredential,
	}
	s := &system{dir: o.Dir, bin: o.Bin, c: &caller{planted: canaries{}}}
	s.c.in = stacktest.Run(t, o).Info()
	for name, value := range map[string]string{
		"first password": firstPassword, "second password": secondPassword, "wrong password": wrongPassword, "credential of a model server": imagesCredential,
		"credential of another model server": langCredential, "password of the mail server": smtpPassword, "prompt": prompt,
	} {
		s.c.plant(name, value)
	}
	files, err := filepath.Glob(filepath.Join(o.Dir, "secrets", "*"))
	if err != nil || len(files) < 4 {
		t.Fatalf("the secrets of the installation: %v, %v", files, err)
	}
	for _, file := range files {
		value, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		written := strings.TrimSpace(string(value))
		s.c.plant(filepath.Base(file), written)
		if raw, err := base64.StdEncoding.DecodeString(written); err == nil {
			s.c.plant("bytes of "+filepath.Base(file), string(raw))
		}
	}
	return s
}

// code is what an authenticator app shows (RFC 6238).
func code(t *testing.T, key []byte, at time.Time) string {
	t.Helper()
	mac := hmac.New(sha1.New, key)
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(at.Unix()/30)))
	sum := mac.Sum(nil)
	return fmt.Sprintf("%06d", binary.BigEndian.Uint32(sum[sum[19]&15:])&0x7fffffff%1_000_000)
}

// live is the run: every sort of secret is made, used and abused.
func (s *system) live(t *testing.T) (session, app string) {
	t.Helper()
	c := s.c
	const email = "canary@example.com"
	login := func(status int, password string, secrets ...string) map[string]any {
		return c.portal(t, status, "POST", "/dev/auth/login", "", fmt.Sprintf(`{"email":%q,"password":%q}`, email, password), secrets...)
	}
	c.portal(t, 200, "POST", "/dev/auth/register", "", fmt.Sprintf(`{"name":"Canary","email":%q,"password":%q}`, email, firstPassword), "access_token")
	c.portal(t, 422, "POST", "/dev/auth/register", "", fmt.Sprintf(`{"name":7,"email":"x","password":%q}`, wrongPassword))
	c.portal(t, 422, "POST", "/dev/auth/register", "", fmt.Sprintf(`{"name":"%s","password":`, wrongPassword))
	login(401, wrongPassword)
	c.portal(t, 200, "POST", "/dev/auth/verify-email", "", `{"token":"`+c.mailed(t, email, "verify-email")+`"}`)
	c.portal(t, 200, "POST", "/dev/auth/forgot-password", "", `{"email":"`+email+`"}`)
	reset := c.mailed(t, email, "reset-password")
	c.portal(t, 200, "POST", "/dev/auth/reset-password", "", fmt.Sprintf(`{"token":%q,"password":%q}`, reset, secondPassword))
	c.portal(t, 422, "POST", "/dev/auth/reset-password", "", fmt.Sprintf(`{"token":%q,"password":%q}`, reset, firstPassword))
	session = text(t, login(200, secondPassword, "access_token"), "access_token")
	c.portal(t, 403, "POST", "/dev/auth/change-password", session, fmt.Sprintf(`{"current_password":%q,"new_password":%q}`, wrongPassword, firstPassword))
	c.portal(t, 403, "DELETE", "/dev/account", session, fmt.Sprintf(`{"password":%q}`, wrongPassword))

	factor := text(t, c.portal(t, 200, "POST", "/dev/auth/totp", session, fmt.Sprintf(`{"password":%q}`, secondPassword), "secret", "otpauth_url"), "secret")
	key, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(factor)
	if err != nil {
		t.Fatal(err)
	}
	c.plant("bytes of the second factor", string(key))
	c.portal(t, 200, "POST", "/dev/auth/totp/confirm", session, `{"code":"`+code(t, key, time.Now())+`"}`, "recovery_codes")
	login(202, secondPassword, "challenge")

	app = text(t, c.portal(t, 200, "POST", "/dev/apps", session, `{"name":"Bot"}`), "app_id")
	keys := "/dev/apps/" + app + "/keys"
	made := c.portal(t, 200, "POST", keys, session, "", "key")
	id, value := text(t, made, "key_id"), text(t, made, "key")
	c.portal(t, 200, "GET", "/dev/playground/key-for-stream?app_id="+app+"&key_id="+id, session, "", "key")
	c.portal(t, 200, "GET", "/dev/config/stream-key", session, "", "token")
	s.gateway(t, value)
	c.portal(t, 200, "POST", keys+"/"+id+"/regenerate", session, "", "key")
	c.portal(t, 200, "POST", "/dev/darwin-tokens", session, `{"name":"laptop"}`, "key")
	for _, path := range []string{
		"/dev/account", "/dev/account/export", "/dev/auth/me", "/dev/auth/totp", "/dev/auth/sessions", "/dev/apps", "/dev/apps/" + app, "/dev/darwin-tokens",
		"/dev/limits", "/dev/apps/" + app + "/usage", "/dev/catalog", "/dev/image-builds", "/dev/openapi", "/dev/", "/api/developer/metrics/debug",
	} {
		c.portal(t, 200, "GET", path, session, "")
	}
	for name, address := range c.in.MetricsURLs {
		t.Logf("metrics of %s", name)
		c.call(t, 200, "GET", address+"/metrics", "", "")
	}
	return session, app
}

// gateway calls with a key as soon as the node knows it, and has model servers fail.
func (s *system) gateway(t *testing.T, key string) {
	t.Helper()
	c, agent := s.c, s.c.in.GatewayURL+"/api/v1/agent"
	for deadline := time.Now().Add(callWait); ; time.Sleep(50 * time.Millisecond) {
		req, err := http.NewRequestWithContext(t.Context(), "GET", c.in.GatewayURL+"/v1/models", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+key)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode == http.StatusOK {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the node does not know the key: %d", res.StatusCode)
		}
	}
	c.call(t, 200, "POST", agent, key, `{"prompt":"`+prompt+`"}`)
	c.call(t, 422, "POST", c.in.GatewayURL+"/api/v1/generate", key, `{"prompt":"`+prompt+`","max_tokens":"many"}`)
	c.call(t, 401, "POST", agent, key+"x", `{"prompt":"`+prompt+`"}`)
	c.call(t, 502, "POST", agent, key, `{"prompt":"`+prompt+`","model":"images"}`)
	c.call(t, 502, "POST", c.in.GatewayURL+"/api/v1/translate", key, `{"text":"`+prompt+`","target":"sw"}`)
}

// operate runs operator commands that know the password of a mail server, which is away.
func (s *system) operate(t *testing.T) {
	t.Helper()
	for command, fails := range map[string]bool{
		"check": false, "mail": false, "mail test canary@example.com": true, "account show canary@example.com": false, "nodes": false, "rewrap": false,
	} {
		args := append([]string{"-config", s.c.in.ControlplaneConfig}, strings.Fields(command)...)
		cmd := exec.CommandContext(t.Context(), filepath.Join(s.bin, "controlplane"), args...)
		cmd.Env = append(os.Environ(), "MODELGATE_CONTROLPLANE_MAIL_SMTP_URL=smtp://canary@127.0.0.1:1", "MODELGATE_CONTROLPLANE_MAIL_TLS=required",
			"MODELGATE_CONTROLPLANE_MAIL_SMTP_PASSWORD=env:CANARY_SMTP_PASSWORD", "CANARY_SMTP_PASSWORD="+smtpPassword, "MODELGATE_CONTROLPLANE_LOG_LEVEL=debug")
		out, err := cmd.CombinedOutput()
		if (err != nil) != fails {
			t.Errorf("controlplane %s: %v\n%s", command, err, out)
		}
		s.printed = append(s.printed, out...)
	}
}

// files are what the processes wrote, but the database and the files that hold the secrets.
func (s *system) files(t *testing.T) map[string][]byte {
	t.Helper()
	found := make(map[string][]byte)
	err := filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{"secrets", "database"}, d.Name()):
			return filepath.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		found[path], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// dump is everything in the database, by table.
func (s *system) dump(t *testing.T) map[string][]byte {
	t.Helper()
	text, err := os.ReadFile(s.c.in.ControlplaneConfig)
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		DatabaseURL string `yaml:"database_url"`
	}
	if err := yaml.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	db, err := pgx.Connect(t.Context(), config.DatabaseURL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close(t.Context()) }()
	rows, err := db.Query(t.Context(), `SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'`)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string][]byte)
	for _, table := range tables {
		var out strings.Builder
		if _, err := db.PgConn().CopyTo(t.Context(), &out, `COPY `+pgx.Identifier{table}.Sanitize()+` TO STDOUT`); err != nil {
			t.Fatal(err)
		}
		found[table] = []byte(out.String())
	}
	return found
}

// kept are the secrets that a file is there to hold: a node needs the pepper to tell a key from other text, also while the
// control plane is away. Only its owner may read the file.
func (s *system) kept(t *testing.T, path string) (allowed []string) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Name() != "index.db" || info.Mode().Perm()&0o077 != 0 {
		return nil
	}
	for secret, name := range s.c.planted {
		if strings.HasSuffix(name, "key_pepper") {
			allowed = append(allowed, secret)
		}
	}
	return allowed
}

// leaks is where planted secrets are that must not be there.
func (s *system) leaks(t *testing.T) map[string][]string {
	t.Helper()
	found := make(map[string][]string)
	look := func(where string, text []byte, allowed ...string) {
		if names := s.c.planted.scan(text, allowed...); len(names) > 0 {
			found[where] = names
		}
	}
	for _, h := range s.c.heard {
		look("answer to "+h.call, h.text, append(h.allowed, prompt)...) // who asks may be answered with the question
	}
	for path, text := range s.files(t) {
		look("file "+filepath.Base(path), text, s.kept(t, path)...)
	}
	for table, text := range s.dump(t) {
		look("table "+table, text)
	}
	look("operator commands", s.printed)
	return found
}

func TestSecretsStayWhereTheyBelong(t *testing.T) {
	s := start(t)
	session, app := s.live(t)
	s.operate(t)
	for where, names := range s.leaks(t) {
		t.Errorf("%s: %v", where, names)
	}
	files, tables := s.files(t), s.dump(t)
	t.Logf("%d secrets, %d answers, %d files, %d tables", len(s.c.planted), len(s.c.heard), len(files), len(tables))
	if len(s.c.planted) < 25 || len(s.c.heard) < 30 || len(tables) < 15 || len(tables["api_key_secrets"]) == 0 || len(files) < 6 {
		t.Error("the run was not what it was meant to be")
	}
	if t.Failed() {
		return
	}
	t.Run("and are found when they do not", func(t *testing.T) { s.leak(t, session, app) })
}

// leak puts secrets where they do not belong.
func (s *system) leak(t *testing.T, session, app string) {
	log := filepath.Join(s.dir, "log", "controlplane.log")
	f, err := os.OpenFile(log, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = fmt.Fprintln(f, base64.StdEncoding.EncodeToString([]byte(`{"password":"`+secondPassword+`"}`)))
	if err != nil || f.Close() != nil {
		t.Fatal(err)
	}
	s.c.portal(t, 200, "PUT", "/dev/apps/"+app, session, `{"description":"`+hex.EncodeToString([]byte(firstPassword))+`"}`)
	s.printed = append(s.printed, smtpPassword...)
	leaks := s.leaks(t)
	for _, where := range []string{ // the audit log keeps what the app's description was changed to
		"file controlplane.log", "table apps", "table audit_records", "answer to PUT " + strings.TrimPrefix(s.c.in.PortalURL, "http://") + "/dev/apps/" + app, "operator commands",
	} {
		if len(leaks[where]) == 0 {
			t.Errorf("a leak was not found: %s", where)
		}
		delete(leaks, where)
	}
	if len(leaks) != 0 {
		t.Errorf("found besides: %v", leaks)
	}
}
