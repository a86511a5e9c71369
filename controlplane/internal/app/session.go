package app

import (
	"context"
	"encoding/json"
	"fmt"

	"modelgate.internal/controlplane/internal/plan"
	"modelgate.internal/shared/key"
	"modelgate.internal/shared/plane"
)

// Session returns the credential of one call that a developer makes in the portal without a key: a token that nodes accept for
// key.SessionLife and that says itself what it may do. That is everything, within the limits of the developer's plan: those of the day
// are the account's, shared with its keys, the others the session's own, as if it were a key of theirs. The developer's id stands in the
// place of a key's id, in limits and in usage. It is for the gateway only; nobody is shown it, and nothing is stored of it.
func (s *Apps) Session(ctx context.Context, developerID string) (string, error) {
	terms, version, err := s.Store.SessionTerms(ctx, developerID)
	if err != nil {
		return "", fmt.Errorf("load what a session may do: %w", err)
	}
	text, err := json.Marshal(session(developerID, terms, version))
	if err != nil {
		return "", fmt.Errorf("encode a session: %w", err)
	}
	return s.Streams.SignSession(developerID, text, s.Now())
}

func session(developerID string, terms plan.Terms, version plane.Version) plane.Session {
	return plane.Session{Seen: version, Principal: plane.Principal{
		KeyID: developerID, DeveloperID: developerID, Kind: key.Portal, Limits: terms.Limits(key.Portal, developerID, "", 0),
	}}
}
