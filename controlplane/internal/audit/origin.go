package audit

import "context"

// Origin is who asks for a change and how.
type Origin struct {
	Actor     string // id of the developer; empty for an operator or a stranger
	SessionID string // empty without a session
	Address   string // IP address of the client; empty for an operator
	Operation string // operation of the contract, or what an operator's command is called
}

type originKey struct{}

// With returns a context in which changes are of the origin.
func With(ctx context.Context, o Origin) context.Context {
	return context.WithValue(ctx, originKey{}, o)
}

// From returns the origin of the context; without one, the process itself.
func From(ctx context.Context) Origin {
	if o, ok := ctx.Value(originKey{}).(Origin); ok {
		return o
	}
	return Origin{Operation: "internal"}
}
