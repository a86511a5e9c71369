package main

import (
	"errors"
	"strings"

	"modelgate.internal/shared/apierr"
)

// plain makes an error for people of one that is meant for HTTP: a 422 says what is wrong in its items.
func plain(err error) error {
	e, ok := errors.AsType[*apierr.Error](err)
	if !ok || e.Kind != apierr.Invalid {
		return err
	}
	var reasons []string
	for _, item := range e.Items {
		reasons = append(reasons, item.Msg)
	}
	return errors.New(strings.Join(reasons, "; "))
}
