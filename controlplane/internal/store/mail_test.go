package store

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"modelgate.internal/controlplane/internal/mail"
	"modelgate.internal/controlplane/internal/secret"
)

func letter(now time.Time) mail.Letter {
	return mail.Letter{
		ID: uuid.NewString(), Recipient: "ada@example.com", Template: "test", CreatedAt: now, ExpiresAt: now.Add(time.Hour),
		Sealed: secret.Sealed{KEKID: "kek", SealedKey: []byte("key"), Nonce: []byte("nonce"), Ciphertext: []byte("text")},
	}
}

func claim(t *testing.T, s *Store, now time.Time) []mail.Letter {
	t.Helper()
	letters, err := s.ClaimMail(t.Context(), now, now.Add(time.Minute), 10)
	if err != nil {
		t.Fatal(err)
	}
	return letters
}

func TestAClaimedLetterIsNobodyElses(t *testing.T) {
	s, now := open(t), micros()
	l := letter(now)
	if err := s.QueueMail(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	got := claim(t, s, now)
	if len(got) != 1 || got[0].ID != l.ID || got[0].Attempts != 1 || string(got[0].Sealed.Ciphertext) != "text" {
		t.Fatalf("claimed %+v", got)
	}
	if again := claim(t, s, now); len(again) != 0 {
		t.Errorf("claimed twice: %+v", again)
	}
	now = now.Add(time.Minute) // who claimed it died
	if got := claim(t, s, now); len(got) != 1 || got[0].Attempts != 2 {
		t.Errorf("after the claim: %+v", got)
	}
	if err := s.PostponeMail(t.Context(), l.ID, "busy", now.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	if got := claim(t, s, now); len(got) != 0 {
		t.Errorf("before its time: %+v", got)
	}
	if got := claim(t, s, now.Add(time.Second)); len(got) != 1 {
		t.Error("postponed for ever")
	}
	if err := s.DropMail(t.Context(), l.ID); err != nil {
		t.Fatal(err)
	}
	if waiting, dead, err := s.CountMail(t.Context()); waiting != 0 || dead != 0 || err != nil {
		t.Errorf("%d wait, %d dead, %v", waiting, dead, err)
	}
}

func TestADeadLetterKeepsNoText(t *testing.T) {
	s, now := open(t), micros()
	l := letter(now)
	if err := s.QueueMail(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	if err := s.BuryMail(t.Context(), l.ID, "nobody there", now); err != nil {
		t.Fatal(err)
	}
	if got := claim(t, s, now.Add(time.Hour)); len(got) != 0 {
		t.Errorf("a dead letter is sent: %+v", got)
	}
	text, err := one[struct {
		Ciphertext []byte `db:"ciphertext"`
	}](t.Context(), s.pool, `SELECT ciphertext FROM mail_outbox`)
	if err != nil || len(text.Ciphertext) != 0 {
		t.Errorf("%q is left, %v", text.Ciphertext, err)
	}
	dead, err := s.DeadMail(t.Context())
	if err != nil || len(dead) != 1 || dead[0].Reason != "nobody there" || dead[0].Recipient != "ada@example.com" {
		t.Errorf("%+v, %v", dead, err)
	}
	s.Now = func() time.Time { return now.Add(mail.DeadKept + time.Hour) }
	if err := s.tidy(t.Context()); err != nil {
		t.Fatal(err)
	}
	if dead, err := s.DeadMail(t.Context()); err != nil || len(dead) != 0 {
		t.Errorf("kept for ever: %+v, %v", dead, err)
	}
}

func TestNoMailForWhatDidNotHappen(t *testing.T) {
	s := open(t)
	failed := errors.New("changed my mind")
	err := s.Tx(t.Context(), "try", func(ctx context.Context, tx pgx.Tx) error {
		if err := queueMail(t.Context(), tx, letter(micros())); err != nil {
			return err
		}
		return failed
	})
	if waiting, _, countErr := s.CountMail(t.Context()); !errors.Is(err, failed) || waiting != 0 || countErr != nil {
		t.Errorf("%v, %d wait, %v", err, waiting, countErr)
	}
}
