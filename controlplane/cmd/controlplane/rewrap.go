package main

import (
	"context"
	"fmt"
	"io"

	"modelgate.internal/controlplane/internal/rewrap"
	"modelgate.internal/controlplane/internal/secret"
	"modelgate.internal/controlplane/internal/store"
)

// rewrapAbout is the help of the command.
const rewrapAbout = "Moves every sealed value under the current key-encryption key, which is the first line of key_encryption_key,\n" +
	"so that the other lines can be removed. First give all servers the new key and restart them; then run this, any time and\n" +
	"as often as you like; remove the old line when it says that nothing needs it."

// rewrap moves sealed values under the current key-encryption key.
func (e *env) rewrap(ctx context.Context) error {
	keys, err := e.cfg.readSecrets()
	if err != nil {
		return err
	}
	s, err := e.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	unknown, err := rewrap.Run(ctx, s, keys.vault, func(p rewrap.Progress) {
		fmt.Fprintf(e.stdout, "%-16s moved %d, left %d\n", p.Kind, p.Moved, p.Unknown)
	})
	if err != nil {
		return err
	}
	if err := sealedReport(ctx, e.stdout, s, keys.vault); err != nil {
		return err
	}
	if unknown > 0 {
		return fmt.Errorf("%d values could not be moved: the key that they are sealed under is not configured", unknown)
	}
	return nil
}

// sealedReport says how many values need which key-encryption key besides the current one.
func sealedReport(ctx context.Context, w io.Writer, s *store.Store, v *secret.Vault) error {
	counts, err := s.CountSealed(ctx)
	if err != nil {
		return err
	}
	var current int64
	old := false
	for _, c := range counts {
		if c.KEKID == v.Current() {
			current += c.N
			continue
		}
		old = true
		note := "needed until controlplane rewrap has run"
		if !v.Has(c.KEKID) {
			note = "NOT CONFIGURED: these cannot be read"
		}
		fmt.Fprintf(w, "key-encryption key %s: %d %s, %s\n", c.KEKID, c.N, c.Kind, note)
	}
	fmt.Fprintf(w, "key-encryption key %s: %d values, current\n", v.Current(), current)
	if !old {
		fmt.Fprintln(w, "no value needs another key-encryption key")
	}
	return nil
}
