package mail

import "context"

// Round works on the outbox once.
func (o *Outbox) Round(ctx context.Context) error { return o.round(ctx) }
