package mail

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Store is what the worker asks of storage.
type Store interface {
	// ClaimMail takes up to limit letters that are due. They are due again at until, unless something is noted of them.
	ClaimMail(ctx context.Context, now, until time.Time, limit int) ([]Letter, error)
	// DropMail removes a letter that is done with.
	DropMail(ctx context.Context, id string) error
	// PostponeMail keeps a letter for another attempt.
	PostponeMail(ctx context.Context, id, reason string, next time.Time) error
	// BuryMail makes a letter a dead one and erases its text.
	BuryMail(ctx context.Context, id, reason string, at time.Time) error
	// CountMail returns how many letters wait and how many are dead.
	CountMail(ctx context.Context) (waiting, dead int64, err error)
}

// Dead is a letter that was given up.
type Dead struct {
	ID        string
	Recipient string
	Template  string
	Attempts  int64
	Reason    string
	CreatedAt time.Time
	DeadAt    time.Time
}

// Outbox is the worker that sends what waits.
type Outbox struct {
	mailer  *Mailer
	store   Store
	log     *slog.Logger
	now     func() time.Time
	metrics metrics
}

type metrics struct {
	letters       *prometheus.CounterVec
	waiting, dead prometheus.Gauge
}

// NewOutbox returns a worker whose metrics are registered with reg.
func NewOutbox(m *Mailer, s Store, log *slog.Logger, reg prometheus.Registerer) (*Outbox, error) {
	o := &Outbox{mailer: m, store: s, log: log, now: m.now, metrics: metrics{
		letters: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "modelgate_mail_letters_total", Help: "Attempts to send a mail by template and outcome: sent, postponed, dead.",
		}, []string{"template", "outcome"}),
		waiting: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "modelgate_mail_waiting", Help: "Mails in the outbox of the database that wait to be sent.",
		}),
		dead: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "modelgate_mail_dead", Help: "Mails in the outbox of the database that were given up; controlplane mail lists them.",
		}),
	}}
	for _, c := range []prometheus.Collector{o.metrics.letters, o.metrics.waiting, o.metrics.dead} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	return o, nil
}

// Run sends what is due until ctx ends, and returns its error. Failures of the database are logged and tried again.
func (o *Outbox) Run(ctx context.Context) error {
	tick := time.NewTicker(PollEvery)
	defer tick.Stop()
	var counted time.Time
	for {
		err := o.round(ctx)
		if now := o.now(); err == nil && now.Sub(counted) >= CountEvery {
			counted, err = now, o.count(ctx)
		}
		if err != nil && ctx.Err() == nil {
			o.log.WarnContext(ctx, "the outbox of mails was not worked on", slog.Any("err", err))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// round sends until nothing more is due.
func (o *Outbox) round(ctx context.Context) error {
	for ctx.Err() == nil {
		now := o.now()
		letters, err := o.store.ClaimMail(ctx, now, now.Add(ClaimFor), ClaimMax)
		if err != nil {
			return err
		}
		for _, l := range letters {
			if err := o.handle(ctx, l); err != nil {
				return err
			}
		}
		if len(letters) < ClaimMax {
			return nil
		}
	}
	return nil
}

// handle sends a letter and notes what became of it, even when the process is about to stop.
func (o *Outbox) handle(ctx context.Context, l Letter) error {
	if !l.ExpiresAt.After(l.CreatedAt) {
		return o.store.DropMail(ctx, l.ID)
	}
	if ctx.Err() != nil {
		return ctx.Err() // the letter is due again when the claim is over
	}
	var err error
	if o.now().Before(l.ExpiresAt) {
		err = o.mailer.sendLetter(ctx, l)
	} else {
		err = &refusedError{errors.New("what it says expired before the mail server took it")}
	}
	note, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleWithin)
	defer cancel()
	outcome, reason := "sent", ""
	_, refused := errors.AsType[*refusedError](err)
	switch {
	case err == nil:
		err = o.store.DropMail(note, l.ID)
	case refused || l.Attempts >= AttemptsMax:
		outcome, reason = "dead", short(err)
		err = o.store.BuryMail(note, l.ID, reason, o.now())
	default:
		outcome, reason = "postponed", short(err)
		err = o.store.PostponeMail(note, l.ID, reason, o.now().Add(backoff(l.Attempts)))
	}
	o.metrics.letters.WithLabelValues(l.Template, outcome).Inc()
	level := slog.LevelInfo
	if reason != "" {
		level = slog.LevelWarn
	}
	o.log.LogAttrs(ctx, level, "mail", slog.String("outcome", outcome), slog.String("mail_id", l.ID), slog.String("template", l.Template),
		slog.Int64("attempt", l.Attempts), slog.String("reason", reason))
	return err
}

func (o *Outbox) count(ctx context.Context) error {
	waiting, dead, err := o.store.CountMail(ctx)
	if err != nil {
		return err
	}
	o.metrics.waiting.Set(float64(waiting))
	o.metrics.dead.Set(float64(dead))
	return nil
}

// backoff is the pause after so many attempts.
func backoff(attempts int64) time.Duration {
	return min(BackoffMin<<min(max(attempts-1, 0), 20), BackoffMax)
}

// short is a reason as it is kept.
func short(err error) string {
	text := strings.ToValidUTF8(strings.ReplaceAll(oneLine(err.Error()), "\x00", ""), "")
	if len(text) > ReasonBytes {
		text = strings.ToValidUTF8(text[:ReasonBytes], "")
	}
	return text
}
