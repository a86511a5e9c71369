package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"modelgate.internal/controlplane/internal/mail"
)

// mail runs the commands about mail.
func (e *env) mail(ctx context.Context, args []string) error {
	if len(args) > 0 && args[0] == "test" {
		return e.mailTest(ctx, args[1:])
	}
	return e.bare("mail", "Shows how many mails wait to be sent, and those that were given up, newest first.", args, func() error {
		return e.mailShow(ctx)
	})
}

func (e *env) mailShow(ctx context.Context) error {
	server, err := e.cfg.mailServer()
	if err != nil {
		return err
	}
	s, err := e.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	waiting, _, err := s.CountMail(ctx)
	if err != nil {
		return err
	}
	dead, err := s.DeadMail(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(e.stdout, "server   %s\nwaiting  %d\n", server, waiting)
	for _, d := range dead {
		fmt.Fprintf(e.stdout, "dead     %s  %s to %s, %d attempts: %s\n", d.DeadAt.UTC().Format(time.RFC3339), d.Template, d.Recipient, d.Attempts, d.Reason)
	}
	return nil
}

func (e *env) mailTest(ctx context.Context, args []string) error {
	to, err := e.parse(e.flags("mail test ADDRESS", "Sends a mail now, past the outbox, and says how that went."), args, 1)
	if err != nil {
		return err
	}
	keys, err := e.cfg.readSecrets()
	if err != nil {
		return err
	}
	mailer, err := mail.New(keys.mail, keys.vault, time.Now)
	if err != nil {
		return err
	}
	if err := mailer.Send(ctx, mail.Message{To: to[0], Content: mail.Test{PortalURL: e.cfg.PublicURL}}); err != nil {
		if cause := errors.Unwrap(err); cause != nil {
			return fmt.Errorf("send through %s: %w", keys.mail, cause)
		}
		return err
	}
	fmt.Fprintf(e.stdout, "%s took the mail\n", keys.mail)
	return nil
}
