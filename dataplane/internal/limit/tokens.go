package limit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"modelgate.internal/dataplane/internal/quota/client"
	"modelgate.internal/shared/apierr"
)

// Tokens are what one admitted call may use of its caller's limits of model tokens: it reserves an estimate, takes more as a stream goes on,
// and settles what it really used. The nil Tokens has no limits. It belongs to one goroutine at a time.
//
// A token counts from its reservation until one window after it was settled. So no window exceeds the limit, but for what an answer had
// beyond its reservation and nobody could hold back: that is owed, and this node pays it before it admits another call.
type Tokens struct {
	limiter *Limiter
	cells   *Cells
	verdict *Verdict
	ctx     context.Context // the call's life
	now     time.Time       // when it began

	holds   []client.Hold // one per limit, once reserved
	settled []int64       // of the limit, by this call
	granted int64         // what the call may have used so far
	reached string        // the limit that ended the stream
	refusal string        // the limit that refused the call
	over    bool
}

// Tokens returns what the admitted call may use; nil if its caller has no limits of model tokens.
func (v *Verdict) Tokens(ctx context.Context, now time.Time) *Tokens {
	if v.cells == nil || len(v.cells.amounts) == 0 {
		return nil
	}
	return &Tokens{
		limiter: v.limiter, cells: v.cells, verdict: v, ctx: ctx, now: now, settled: make([]int64, len(v.cells.amounts)),
	}
}

// Need is what a call says of the model tokens that it will use.
type Need struct {
	Prompt int64 // estimated
	Answer int64 // its bound; 0 for none
	Stream bool
}

// of returns for how many tokens of its answer the call reserves of the limits together. The error is a 413, and r the limit that the
// prompt is too large for.
func (n Need) of(budgets []rule) (answer int64, r *rule, err error) {
	answer = n.Answer
	if answer <= 0 {
		answer = AnswerTokens
	}
	if n.Stream {
		answer = min(answer, AnswerTokens)
	}
	for i := range budgets {
		r := &budgets[i]
		if n.Prompt >= r.max {
			return 0, r, apierr.New(apierr.TooLarge, fmt.Sprintf(
				"The prompt has about %d tokens, and %s may use %d model tokens %s. Shorten the prompt.", n.Prompt, r.subject(), r.max, r.per()))
		}
		answer = min(answer, r.max-n.Prompt)
	}
	return answer, nil, nil
}

// Foretell returns the refusal that the limits of model tokens would give a call that needs so many, standing as [Limiter.Peek] told:
// [Tokens.Reserve] has the ledger's own word for when enough are free, Foretell says when the first are.
func (c *Cells) Foretell(all []Standing, need Need) error {
	if c == nil || need == (Need{}) {
		return nil
	}
	answer, _, err := need.of(c.budgets)
	if err != nil {
		return err
	}
	for i := range c.budgets {
		r := &c.budgets[i]
		for _, s := range all {
			if s.Name == r.name && s.Remaining < need.Prompt+answer {
				return r.refusal(s.Reset)
			}
		}
	}
	return nil
}

// Reserve takes an estimate of the prompt's tokens and as many for the answer as its bound says (0: it has none), or what the limit
// allows in all; of a stream, which takes more later, AnswerTokens at most. It returns for how many of the answer that is. The errors are
// those of [Limiter.Admit], and 413 for a prompt that is larger than the limit; the call is not counted then.
func (t *Tokens) Reserve(prompt, answer int64, stream bool) (int64, error) {
	if t == nil || t.holds != nil {
		return answer, nil
	}
	answer, r, err := Need{prompt, answer, stream}.of(t.cells.budgets)
	if err != nil {
		t.verdict.Refund()
		t.refusal = r.name
		return 0, err
	}
	for i, c := range t.cells.amounts {
		h, err := t.limiter.leases.Hold(t.ctx, c, prompt+answer)
		if err != nil {
			t.release()
			t.verdict.Refund()
			err = t.refused(i, err)
			if apierr.From(err).Kind == apierr.Limited {
				t.refusal = t.cells.budgets[i].name
			}
			return 0, err
		}
		t.holds = append(t.holds, h)
	}
	t.granted = prompt + answer
	for i := range t.cells.budgets {
		t.tell(i, t.limiter.leases.Frees(t.cells.amounts[i], t.now))
	}
	return answer, nil
}

// Use says how many tokens the call has used so far, and takes more if those were not reserved. An error ends the stream: it is the
// refusal of the limit that was reached, and Reached then names that, or the end of the context, or ErrUnavailable.
func (t *Tokens) Use(total int64) error {
	if t == nil || total <= t.granted {
		return nil
	}
	step := max(int64(tokensStep), total-t.granted)
	for i := range t.holds { // the limits grow together
		t.limiter.leases.Settle(t.holds[i], t.holds[i].Tokens())
		t.settled[i] += t.holds[i].Tokens()
		t.holds[i] = client.Hold{}
	}
	for i := range t.holds {
		h, err := t.take(i, step, total-t.granted)
		if err != nil {
			err = t.refused(i, err)
			if apierr.From(err).Kind == apierr.Limited {
				t.reached = t.cells.budgets[i].name
				err = t.cut(i)
			}
			return err
		}
		t.holds[i] = h
		step = h.Tokens()
	}
	t.granted += step
	return nil
}

// take holds step tokens, or as many as there are, but at least so many.
func (t *Tokens) take(i int, step, least int64) (client.Hold, error) {
	for {
		h, err := t.limiter.leases.Hold(t.ctx, t.cells.amounts[i], step)
		var limited *client.LimitedError
		if err == nil || !errors.As(err, &limited) || step == least {
			return h, err
		}
		step = max(step/2, least)
	}
}

// cut is the error of a stream that ends at its limit.
func (t *Tokens) cut(i int) error {
	r := &t.cells.budgets[i]
	now := time.Now() // a stream may be old
	t.verdict.Reset = r.renews(t.limiter.leases.Frees(t.cells.amounts[i], now), now)
	wait := int64((t.verdict.Reset + time.Second - 1) / time.Second)
	return apierr.New(apierr.Limited, fmt.Sprintf(
		"Token limit reached: %s may use %d model tokens %s. The answer ends here; more are free in %d s.", r.subject(), r.max, r.per(), wait)).
		After(t.verdict.Reset)
}

// Reached returns the name of the limit that ended the stream, or nothing.
func (t *Tokens) Reached() string {
	if t == nil {
		return ""
	}
	return t.reached
}

// Refused returns the name of the limit that refused the call, or nothing.
func (t *Tokens) Refused() string { return t.refusal }

// Settle ends the reservation: the call has used so many tokens in all. What it had beyond that is free again; what it used beyond
// its reservation is owed. Only the first of several calls counts.
func (t *Tokens) Settle(used int64) {
	if t == nil || t.over {
		return
	}
	t.over = true
	for i, c := range t.cells.amounts {
		rest, held := used-t.settled[i], int64(0)
		if i < len(t.holds) {
			held = t.holds[i].Tokens()
			t.limiter.leases.Settle(t.holds[i], rest)
		}
		t.limiter.leases.Owe(c, rest-held)
	}
}

// release gives back what was reserved before another limit refused.
func (t *Tokens) release() {
	for _, h := range t.holds {
		t.limiter.leases.Settle(h, 0)
	}
	t.holds, t.over = nil, true
}

// refused fills the call's verdict and returns its error.
func (t *Tokens) refused(i int, err error) error {
	v := t.verdict
	err = v.refuse(t.ctx, &t.cells.budgets[i], t.now, err)
	if v.Name == t.cells.budgets[i].name {
		v.Remaining = min(t.cells.amounts[i].Remaining(), v.Limit)
	}
	return err
}

// tell has the verdict tell of the limit if less of it is left, as a part of the whole, than of the limit that it tells of.
func (t *Tokens) tell(i int, frees time.Duration) {
	r, v := &t.cells.budgets[i], t.verdict
	left := min(t.cells.amounts[i].Remaining(), r.max)
	if v.Name == "" || float64(left)*float64(v.Limit) < float64(v.Remaining)*float64(r.max) {
		v.Name, v.Limit, v.Remaining, v.Reset = r.name, r.max, left, r.renews(frees, t.now)
	}
}
