package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"modelgate.internal/controlplane/internal/secret"
)

// secretFiles are what keygen writes, named as the settings.
func secretFiles() []string {
	return []string{"key_encryption_key", "key_pepper", "session_key", "join_token"}
}

// keygen writes a random secret of each sort into a directory. It overwrites nothing: losing a key-encryption key loses
// every key that was sealed under it.
func (e *env) keygen(args []string) error {
	f := e.flags("keygen DIR", "Writes new secrets into files of DIR, readable by the owner only, to be named in the settings as file:DIR/NAME:\n"+
		"key_encryption_key, key_pepper, session_key, join_token. Existing files are never overwritten.")
	dir := f.String("dir", "", "the directory, instead of the argument")
	others, err := e.parse(f, args, anyNumber)
	if err != nil {
		return err
	}
	if *dir != "" {
		others = append(others, *dir)
	}
	if len(others) != 1 {
		return errors.New("want one directory; --help says more")
	}
	return makeSecrets(others[0])
}

func makeSecrets(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the directory: %w", err)
	}
	for _, name := range secretFiles() {
		if _, err := os.Lstat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s exists and is not overwritten; nothing was written", filepath.Join(dir, name))
		}
	}
	for _, name := range secretFiles() {
		if err := writeNew(filepath.Join(dir, name), secret.Generate()+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// writeNew writes a file that does not exist yet.
func writeNew(path, text string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("write a secret: %w", err)
	}
	_, err = file.WriteString(text)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("write a secret: %w", err)
	}
	return nil
}
