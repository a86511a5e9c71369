package account

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"modelgate.internal/controlplane/internal/mail"
	"modelgate.internal/shared/apierr"
)

// Deletion says when an account is going to be removed.
type Deletion struct {
	RequestedAt time.Time
	DeleteAt    time.Time
}

// DeletionStore is what the deletion of accounts asks of storage.
type DeletionStore interface {
	// ScheduleDeletion returns ErrInOrg for a member of an organization and ErrSubscribed for whom a subscription can still charge. It ends all sessions and, if none is scheduled yet, schedules the deletion and queues the letters. It returns
	// what is scheduled.
	ScheduleDeletion(ctx context.Context, developerID string, d Deletion, letters ...mail.Letter) (Deletion, error)
	// Deletion returns nil if none is scheduled.
	Deletion(ctx context.Context, developerID string) (*Deletion, error)
	// CancelDeletion takes a deletion back that is not due at now. Error: ErrNotScheduled.
	CancelDeletion(ctx context.Context, developerID string, now time.Time) error
}

// What can be wrong with the deletion of an account.
var (
	ErrNotScheduled = apierr.New(apierr.Conflict, "The account is not going to be deleted.")
	ErrSubscribed   = apierr.New(apierr.Conflict, "Your subscription would go on to be charged. Cancel it in the billing portal, then repeat this.")
	ErrInOrg        = apierr.New(apierr.Conflict, "You are a member of an organization. Leave it first; its last owner has to make somebody else an owner before.")
	errConfirm      = apierr.New(apierr.Forbidden, "Send your password to confirm the deletion.")
	errSignInFirst  = apierr.New(apierr.Forbidden,
		fmt.Sprintf("Sign in again and repeat this within %d minutes to confirm the deletion.", int(RecentSignIn.Minutes())))
)

// Delete schedules the removal of an account, ends all its sessions and tells the owner by mail. It is confirmed with the
// password or, for an account that has none, by a session that has just begun. The keys work until the removal. A second time
// it ends the sessions and leaves the schedule as it is. Errors: ErrInOrg, ErrSubscribed, ErrWrongPassword, 403, 429.
func (a *Accounts) Delete(ctx context.Context, who Identity, password string) (Deletion, error) {
	d, err := a.Store.Developer(ctx, who.DeveloperID)
	if err != nil {
		return Deletion{}, err
	}
	if err := a.confirmDeletion(ctx, who, d, password); err != nil {
		return Deletion{}, err
	}
	now := a.now()
	plan := Deletion{RequestedAt: now, DeleteAt: now.Add(DeletionDelay)}
	letters, err := a.letter(mail.Message{
		To: d.Email, Content: mail.AccountDeletion{DeleteAt: plan.DeleteAt, PortalURL: a.PublicURL},
	}, NoticeTTL)
	if err != nil {
		return Deletion{}, err
	}
	plan, err = a.Store.ScheduleDeletion(ctx, d.ID, plan, letters...)
	a.forgetAll(d.ID)
	return plan, err
}

func (a *Accounts) confirmDeletion(ctx context.Context, who Identity, d Developer, password string) error {
	if password != "" {
		return a.confirm(ctx, d, password)
	}
	c, err := a.Store.CredentialsByEmail(ctx, d.Email)
	if err != nil {
		return err
	}
	if c.PasswordHash != "" {
		return errConfirm
	}
	s, err := a.Store.Session(ctx, who.SessionID)
	if err != nil {
		return err
	}
	if a.Now().Sub(s.CreatedAt) > RecentSignIn {
		return errSignInFirst
	}
	return nil
}

// Deletion returns when the account is going to be removed; nil if it is not.
func (a *Accounts) Deletion(ctx context.Context, developerID string) (*Deletion, error) {
	return a.Store.Deletion(ctx, developerID)
}

// Restore takes the deletion of an account back, as long as it is not due. Error: ErrNotScheduled.
func (a *Accounts) Restore(ctx context.Context, developerID string) error {
	return a.Store.CancelDeletion(ctx, developerID, a.now())
}

// RemovalStore is what the removal of accounts asks of storage.
type RemovalStore interface {
	// Lease takes or extends a lease; false if somebody else has it.
	Lease(ctx context.Context, name, holder string, now, until time.Time) (mine bool, err error)
	// DueDeletions returns up to limit accounts whose removal is due, the longest waiting first.
	DueDeletions(ctx context.Context, now time.Time, limit int) (developerIDs []string, err error)
	// RemoveAccount removes a part of an account whose removal is due: one app with its keys or, when there is none left, everything
	// but its anonymous usage. It tells the nodes which keys are gone. Done says that nothing is left to be done.
	RemoveAccount(ctx context.Context, developerID string, now time.Time) (done bool, err error)
}

// removalLease is the lease of the replica that removes accounts.
const removalLease = "account_removal"

// Remover is the worker that removes accounts whose time has come. Of all replicas on a database one at a time does it.
type Remover struct {
	Store RemovalStore
	Log   *slog.Logger
	Now   func() time.Time
}

// Run removes what is due every RemovalEvery until ctx ends, and returns its error. A failure is logged and tried again.
func (r *Remover) Run(ctx context.Context) error {
	holder := uuid.NewString()
	tick := time.NewTicker(RemovalEvery)
	defer tick.Stop()
	for {
		if err := r.Round(ctx, holder); err != nil && ctx.Err() == nil {
			r.Log.WarnContext(ctx, "accounts were not removed", slog.Any("err", err))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// Round removes everything that is due, as long as the holder has the lease. An account that cannot be removed is no reason
// to keep another one.
func (r *Remover) Round(ctx context.Context, holder string) error {
	due, err := r.Store.DueDeletions(ctx, r.Now(), RemovalsMax)
	if err != nil {
		return err
	}
	var errs []error
	for _, id := range due {
		done := false
		for !done {
			now := r.Now()
			mine, err := r.Store.Lease(ctx, removalLease, holder, now, now.Add(removalLeaseFor))
			if err != nil || !mine {
				return errors.Join(append(errs, err)...)
			}
			if done, err = r.Store.RemoveAccount(ctx, id, now); err != nil {
				errs = append(errs, fmt.Errorf("remove the account %s: %w", id, err))
				break
			}
		}
		if done {
			r.Log.InfoContext(ctx, "account removed", slog.String("developer_id", id))
		}
	}
	return errors.Join(errs...)
}
