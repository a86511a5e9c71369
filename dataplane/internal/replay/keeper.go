package replay

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
)

// Send posts a message to the control plane and returns the status and the answer, of which there may be max bytes.
type Send func(ctx context.Context, path string, body []byte, max int64) (status int, answer []byte, err error)

// Options are what a Keeper works with.
type Options struct {
	Send Send
	Log  *slog.Logger
}

// Keeper makes calls happen once.
type Keeper struct {
	o        Options
	stopping chan struct{} // closed when no call is left

	mu      sync.Mutex
	stopped bool
	work    sync.WaitGroup // beside the calls
}

// New returns a keeper. What it does beside the calls ends with Run.
func New(o Options) *Keeper { return &Keeper{o: o, stopping: make(chan struct{})} }

// Run waits until ctx ends, which must not be before the calls have. Claims that nobody has ended are freed then. It returns when the
// control plane knows of all that was freed, or could not be told.
func (k *Keeper) Run(ctx context.Context) error {
	<-ctx.Done()
	k.mu.Lock()
	k.stopped = true
	k.mu.Unlock()
	close(k.stopping)
	k.work.Wait()
	return nil
}

// beside does something beside a call. Once Run has ended, it returns when that is done.
func (k *Keeper) beside(f func()) {
	k.mu.Lock()
	if k.stopped {
		k.mu.Unlock()
		f()
		return
	}
	k.work.Add(1)
	k.mu.Unlock()
	go func() {
		defer k.work.Done()
		f()
	}()
}

// What a caller is told about an Idempotency-Key.
var (
	ErrOther = apierr.New(apierr.Conflict,
		"The Idempotency-Key was used for another request within the last 24 hours. Send a new one.")
	ErrUnkept = apierr.New(apierr.Conflict, fmt.Sprintf(
		"The call was made before, but its answer was too large to be replayed: at most %d bytes are kept of an answer, and %d of all of an app. "+
			"Send a new Idempotency-Key to make it again.", plane.ReplayBytesMax, plane.ReplayScopeBytesMax))
	ErrFull = apierr.New(apierr.Limited, fmt.Sprintf(
		"%d calls with an Idempotency-Key within 24 hours are the most an app can make. Send none, or wait.", plane.ReplayEntriesMax))
	ErrAway = apierr.New(apierr.Unavailable,
		"Idempotency-Keys cannot be checked at the moment. Try again, or send the call without the header: such calls are answered.").After(retryAfter)
	ErrFreed = apierr.New(apierr.Unavailable,
		"The call with this Idempotency-Key that was waited for did not end well. Send it again.").After(time.Second)
)

// Claim is what a request under an Idempotency-Key is to do: make the call when Held is set, answer with Result when that is set, and
// wait otherwise.
type Claim struct {
	Held   *Held
	Result *plane.ReplayResult
	k      *Keeper
	ask    plane.ReplayClaim
}

// Check returns why text is no Idempotency-Key, a 422, or nil.
func Check(text []byte) error {
	violation := func(kind, msg string, ctx map[string]any) error {
		return apierr.Violations(apierr.Item{
			Type: kind, Loc: []any{"header", "Idempotency-Key"}, Msg: msg, Input: string(text[:min(len(text), 32)]), Ctx: ctx,
		})
	}
	if len(text) == 0 {
		return violation("string_too_short", "String should have at least 1 character", map[string]any{"min_length": 1})
	}
	if len(text) > keyBytesMax {
		return violation("string_too_long", fmt.Sprintf("String should have at most %d characters", keyBytesMax), map[string]any{"max_length": keyBytesMax})
	}
	for _, c := range text {
		if c < ' ' || c > '~' {
			return violation("string_pattern_mismatch", "String should have printable ASCII characters only", nil)
		}
	}
	return nil
}

// Claim asks for the right to make a call. The keys of an app are its own, and those of a Darwin token. Errors are answers.
func (k *Keeper) Claim(ctx context.Context, who *plane.Principal, text, request []byte) (*Claim, error) {
	key, asked := sha256.Sum256(text), sha256.Sum256(request)
	c := &Claim{k: k, ask: plane.ReplayClaim{
		ClaimID: newClaimID(), Scope: who.AppID, KeyID: who.KeyID, Key: key[:], Request: asked[:],
	}}
	if c.ask.Scope == "" {
		c.ask.Scope = who.KeyID
	}
	_, err := c.try(ctx)
	return c, err
}

// Wait waits until the call that somebody else makes has ended, and claims it if it did not end well; a Claim that only looks gives
// up then, with ErrFreed. It calls idle whenever nothing happened for a while, until that fails.
func (c *Claim) Wait(ctx context.Context, look bool, idle func() error) error {
	c.ask.Look = look
	for pause := pollFirst; ; pause = min(2*pause, pollMax) {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
		if over, err := c.try(ctx); over || err != nil {
			return err
		}
		if err := idle(); err != nil {
			return err
		}
	}
}

// newClaimID returns a random UUID, as RFC 9562, section 5.4, makes them.
func newClaimID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails: it ends the process instead
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// try asks once. It is over unless somebody else makes the call.
func (c *Claim) try(ctx context.Context) (over bool, err error) {
	var there plane.ReplayAnswer
	if err := c.k.tell(ctx, plane.ReplayClaimPath, &c.ask, &there); err != nil {
		return false, ErrAway.Because(err)
	}
	switch there.State {
	case plane.ReplayClaimed:
		c.Held = c.k.hold(c.ask.ClaimID) //nolint:contextcheck // the claim is held beyond the end of the context
		return true, nil
	case plane.ReplayRunning:
		return false, nil
	case plane.ReplayDone:
		if there.Result != nil {
			c.Result = there.Result
			return true, nil
		}
	case plane.ReplayUnkept:
		return true, ErrUnkept
	case plane.ReplayOther:
		return true, ErrOther
	case plane.ReplayFull:
		return true, ErrFull
	case plane.ReplayFree:
		return true, ErrFreed
	}
	return false, ErrAway.Because(fmt.Errorf("the control plane answers with the state %q", there.State))
}

// tell asks the control plane.
func (k *Keeper) tell(ctx context.Context, path string, message, into any) error {
	body, err := json.Marshal(message)
	if err != nil {
		return fmt.Errorf("encode for %s: %w", path, err)
	}
	ctx, cancel := context.WithTimeout(ctx, askMax)
	defer cancel()
	status, answer, err := k.o.Send(ctx, path, body, plane.ReplayMessageBytesMax)
	if err != nil {
		return err
	}
	if status != 200 {
		return fmt.Errorf("%s: control plane answers %d: %.*s", path, status, answerMaxTell, answer)
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return fmt.Errorf("decode answer of %s: %w", path, err)
	}
	return nil
}
