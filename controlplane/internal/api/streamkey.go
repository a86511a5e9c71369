package api

import (
	"fmt"
	"net/http"

	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/key"
	"modelgate.internal/shared/wire"
)

// streamKey makes a short-lived token that stands for the developer's first key.
func (a *API) streamKey(w http.ResponseWriter, r *http.Request, developerID string) error {
	if err := a.StreamPace.Take(developerID); err != nil {
		e := apierr.From(err)
		seconds, _ := e.RetrySeconds()
		return apierr.New(apierr.Limited, fmt.Sprintf(
			"More than %d stream tokens per minute. One is good for %d minutes; the next one can be had in %d s.",
			StreamKeysPerMinute, int(key.StreamLife.Minutes()), seconds)).After(e.RetryAfter)
	}
	first, err := a.Apps.First(r.Context(), developerID)
	if err != nil {
		return err
	}
	token, err := a.Streams.Sign(first.KeyID, key.Digest(first.Hash), a.Now())
	if err != nil {
		return err
	}
	return writeSecret(w, wire.StreamKey{
		Token: token, TokenType: "bearer", ExpiresIn: int64(key.StreamLife.Seconds()), AppID: first.AppID, KeyID: first.KeyID,
	})
}
