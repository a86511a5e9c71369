package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"modelgate.internal/controlplane/internal/mail"
	"modelgate.internal/controlplane/internal/secret"
)

// queueMail puts letters into the outbox, in the transaction that makes what they say true.
func queueMail(ctx context.Context, tx pgx.Tx, letters ...mail.Letter) error {
	for _, l := range letters {
		_, err := tx.Exec(ctx, insertMail, l.ID, l.Recipient, l.Template, l.Sealed.KEKID, l.Sealed.SealedKey, l.Sealed.Nonce,
			l.Sealed.Ciphertext, l.Attempts, l.CreatedAt, l.ExpiresAt)
		if err != nil {
			return fmt.Errorf("queue a mail: %w", err)
		}
	}
	return nil
}

// QueueMail puts a letter into the outbox that has no transaction to belong to.
func (s *Store) QueueMail(ctx context.Context, l mail.Letter) error {
	return s.Tx(ctx, "queue mail", func(ctx context.Context, tx pgx.Tx) error { return queueMail(ctx, tx, l) })
}

// letterRow is a letter as it is stored.
type letterRow struct {
	ID         string    `db:"id"`
	Recipient  string    `db:"recipient"`
	Template   string    `db:"template"`
	KEKID      string    `db:"kek_id"`
	SealedKey  []byte    `db:"sealed_key"`
	Nonce      []byte    `db:"nonce"`
	Ciphertext []byte    `db:"ciphertext"`
	Attempts   int64     `db:"attempts"`
	CreatedAt  time.Time `db:"created_at"`
	ExpiresAt  time.Time `db:"expires_at"`
}

// ClaimMail implements [mail.Store].
func (s *Store) ClaimMail(ctx context.Context, now, until time.Time, limit int) ([]mail.Letter, error) {
	var found []letterRow
	err := s.Tx(ctx, "claim mail", func(ctx context.Context, tx pgx.Tx) (err error) {
		found, err = rows[letterRow](ctx, tx, claimMail, now, until, limit)
		return err
	})
	letters := make([]mail.Letter, len(found))
	for i, r := range found {
		letters[i] = mail.Letter{
			ID: r.ID, Recipient: r.Recipient, Template: r.Template, Attempts: r.Attempts, CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt,
			Sealed: secret.Sealed{KEKID: r.KEKID, SealedKey: r.SealedKey, Nonce: r.Nonce, Ciphertext: r.Ciphertext},
		}
	}
	return letters, err
}

// DropMail implements [mail.Store].
func (s *Store) DropMail(ctx context.Context, id string) error {
	return s.exec(ctx, "drop mail", deleteMail, id)
}

// PostponeMail implements [mail.Store].
func (s *Store) PostponeMail(ctx context.Context, id, reason string, next time.Time) error {
	return s.exec(ctx, "postpone mail", postponeMail, id, reason, next)
}

// BuryMail implements [mail.Store].
func (s *Store) BuryMail(ctx context.Context, id, reason string, at time.Time) error {
	return s.exec(ctx, "bury mail", buryMail, id, reason, at, []byte{})
}

// CountMail implements [mail.Store].
func (s *Store) CountMail(ctx context.Context) (waiting, dead int64, err error) {
	row, err := one[struct {
		Waiting int64 `db:"waiting"`
		Dead    int64 `db:"dead"`
	}](ctx, s.pool, countMail)
	if err != nil {
		return 0, 0, fmt.Errorf("count mails: %w", err)
	}
	return row.Waiting, row.Dead, nil
}

// DeadMail returns the newest letters that were given up.
func (s *Store) DeadMail(ctx context.Context) ([]mail.Dead, error) {
	dead, err := rows[mail.Dead](ctx, s.pool, selectDeadMail, mail.ListedMax)
	if err != nil {
		return nil, fmt.Errorf("list dead mails: %w", err)
	}
	return dead, nil
}

// exec is a transaction of one statement.
func (s *Store) exec(ctx context.Context, name, sql string, args ...any) error {
	return s.Tx(ctx, name, func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, sql, args...)
		return err
	})
}
