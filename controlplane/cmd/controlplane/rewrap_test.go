package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"modelgate.internal/controlplane/internal/account"
	"modelgate.internal/controlplane/internal/app"
	"modelgate.internal/controlplane/internal/mail"
	"modelgate.internal/controlplane/internal/plan"
	"modelgate.internal/controlplane/internal/replay"
	"modelgate.internal/controlplane/internal/rewrap"
	"modelgate.internal/controlplane/internal/secret"
	"modelgate.internal/controlplane/internal/store"
	"modelgate.internal/controlplane/internal/store/storetest"
	"modelgate.internal/shared/plane"
)

// vaultOf is a vault of the keys in a text.
func vaultOf(t *testing.T, text string) *secret.Vault {
	t.Helper()
	keys, err := secret.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	v, err := secret.NewVault(keys)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// sealAll puts a number of API keys, a second factor and a mail into the database and returns how to read them with a vault.
func sealAll(t *testing.T, s *store.Store, v *secret.Vault, keys int) (read func(t *testing.T, v *secret.Vault) error) {
	t.Helper()
	ctx, now := t.Context(), time.Now().UTC().Truncate(time.Microsecond)
	d := account.Developer{ID: uuid.NewString(), Name: "Ada", Email: uuid.NewString() + "@example.com", Plan: plan.Pro, CreatedAt: now}
	if err := s.CreateDeveloper(ctx, account.Credentials{Developer: d}); err != nil {
		t.Fatal(err)
	}
	apps := func(v *secret.Vault) *app.Apps {
		return &app.Apps{Store: s, Vault: v, Pepper: make([]byte, secret.KeyBytes), Now: time.Now}
	}
	for range keys {
		if _, err := apps(v).CreateToken(ctx, d.ID, app.TokenRequest{Metadata: []byte("{}")}, nil); err != nil {
			t.Fatal(err)
		}
	}
	one, err := apps(v).Create(ctx, app.App{DeveloperID: d.ID, Name: "Bot", Environment: "live", RateLimit: 1})
	if err != nil {
		t.Fatal(err)
	}
	k, err := apps(v).CreateKey(ctx, d.ID, one.ID, nil)
	if err != nil {
		t.Fatal(err)
	}
	factor, err := v.Seal([]byte("second factor"), account.TOTPContext(d.ID))
	if err == nil {
		err = s.BeginTOTP(ctx, d.ID, factor, now)
	}
	if err != nil {
		t.Fatal(err)
	}
	letter := mail.Letter{ID: uuid.NewString(), Recipient: d.Email, Template: "test", CreatedAt: now, ExpiresAt: now.Add(time.Hour)}
	if letter.Sealed, err = v.Seal([]byte("letter"), mail.SealContext(letter.ID, letter.Recipient)); err == nil {
		err = s.QueueMail(ctx, letter)
	}
	if err != nil {
		t.Fatal(err)
	}
	replays := func(v *secret.Vault) *replay.Replays { return &replay.Replays{Store: s, Vault: v, Now: time.Now} }
	claim := plane.ReplayClaim{ClaimID: uuid.NewString(), Scope: one.ID, KeyID: k.ID, Key: []byte("key"), Request: []byte("request")}
	if _, err = replays(v).Claim(ctx, &claim); err == nil {
		_, err = replays(v).End(ctx, &plane.ReplayEnd{ClaimID: claim.ClaimID, Result: &plane.ReplayResult{Body: []byte("answer")}})
	}
	if err != nil {
		t.Fatal(err)
	}
	return func(t *testing.T, v *secret.Vault) error {
		if there, err := replays(v).Claim(t.Context(), &claim); err != nil || there.Result == nil || string(there.Result.Body) != "answer" {
			return fmt.Errorf("replay %+v: %w", there, err)
		}
		value, err := apps(v).Reveal(t.Context(), d.ID, one.ID, k.ID)
		if err != nil {
			return err
		}
		if value != k.Value {
			return fmt.Errorf("the key became %q", value)
		}
		f, err := s.TOTP(t.Context(), d.ID)
		if err != nil {
			return err
		}
		if text, err := v.Open(f.Sealed, account.TOTPContext(d.ID)); err != nil || string(text) != "second factor" {
			return fmt.Errorf("second factor %q: %w", text, err)
		}
		letters, err := s.ClaimMail(t.Context(), time.Now(), time.Now(), 10)
		if err != nil || len(letters) != 1 {
			return fmt.Errorf("%d letters: %w", len(letters), err)
		}
		if text, err := v.Open(letters[0].Sealed, mail.SealContext(letter.ID, letter.Recipient)); err != nil || string(text) != "letter" {
			return fmt.Errorf("letter %q: %w", text, err)
		}
		return nil
	}
}

func TestAKeyEncryptionKeyIsReplaced(t *testing.T) {
	dir, url := t.TempDir(), storetest.Database(t)
	mustRun(t, "keygen", dir)
	kek := filepath.Join(dir, "key_encryption_key")
	text, err := os.ReadFile(kek)
	if err != nil {
		t.Fatal(err)
	}
	older, fresh := string(text), secret.Generate()+"\n"
	s := storetest.Open(t, url)
	read := sealAll(t, s, vaultOf(t, older), 30)
	run := func(keys string, args ...string) (string, error) {
		t.Helper()
		if err := os.WriteFile(kek, []byte(keys), 0o600); err != nil {
			t.Fatal(err)
		}
		out, _, err := runCommand(t.Context(), append([]string{
			"-database-url", url, "-key-encryption-key", "file:" + kek, "-key-pepper", "file:" + dir + "/key_pepper", "-session-key", "file:" + dir + "/session_key",
		}, args...)...)
		return out, err
	}
	if out, err := run(older, "check"); err != nil || !strings.Contains(out, "no value needs another") {
		t.Errorf("at first: %v\n%s", err, out)
	}
	if out, err := run(fresh, "check"); err != nil || !strings.Contains(out, "31 api keys, NOT CONFIGURED") {
		t.Errorf("without the old key: %v\n%s", err, out)
	}
	if out, err := run(fresh, "rewrap"); err == nil || !strings.Contains(err.Error(), "34 values could not be moved") {
		t.Errorf("without the old key: %v\n%s", err, out)
	}
	out, err := run(fresh+older, "check")
	for _, want := range []string{"31 api keys, needed until", "1 second factors, needed", "1 mails, needed", "1 replays, needed"} {
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("before: want %s: %v\n%s", want, err, out)
		}
	}
	if out, err := run(fresh+older, "rewrap"); err != nil || !strings.Contains(out, "moved 31, left 0") || !strings.Contains(out, "no value needs another") {
		t.Errorf("moved: %v\n%s", err, out)
	}
	if out, err := run(fresh+older, "rewrap"); err != nil || !strings.Contains(out, "moved 0, left 0") {
		t.Errorf("again: %v\n%s", err, out)
	}
	if err := read(t, vaultOf(t, fresh)); err != nil {
		t.Errorf("with the new key alone: %v", err)
	}
	if err := read(t, vaultOf(t, older)); err == nil {
		t.Error("the old key still opens everything")
	}
}

func TestARewrapThatWasCutOffGoesOn(t *testing.T) {
	s := storetest.Open(t, storetest.Database(t))
	older, fresh := secret.Generate()+"\n", secret.Generate()+"\n"
	for range 7 {
		sealAll(t, s, vaultOf(t, older), 1)
	}
	both := vaultOf(t, fresh+older)
	values, err := s.SealedElsewhere(t.Context(), rewrap.Keys, both.Current(), "", 3)
	if err != nil || len(values) != 3 {
		t.Fatalf("%d values: %v", len(values), err)
	}
	next, err := s.SealedElsewhere(t.Context(), rewrap.Keys, both.Current(), values[2].ID, 3)
	if err != nil || len(next) != 3 || next[0].ID <= values[2].ID {
		t.Fatalf("the next page: %v, %v", next, err)
	}
	moved, err := both.Rewrap(values[0].Sealed, values[0].Context)
	if err != nil {
		t.Fatal(err)
	}
	one := []rewrap.Moved{{ID: values[0].ID, Old: values[0].Sealed, New: moved}}
	for i, want := range []int64{1, 0} { // the second time the value is not as it was
		if n, err := s.Move(t.Context(), rewrap.Keys, one); err != nil || n != want {
			t.Errorf("move %d: %d, %v", i+1, n, err)
		}
	}
	var done int64
	unknown, err := rewrap.Run(t.Context(), s, both, func(p rewrap.Progress) {
		if p.Kind == rewrap.Keys {
			done = p.Moved
		}
	})
	if err != nil || unknown != 0 || done != 13 {
		t.Errorf("the rest: %d moved, %d unknown, %v", done, unknown, err)
	}
	counts, err := s.CountSealed(t.Context())
	if err != nil || len(counts) != 4 {
		t.Errorf("counts %v: %v", counts, err)
	}
}
