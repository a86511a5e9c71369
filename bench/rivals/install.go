package rivals

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
)

// policy is the program that Debian's packages ask whether they may start their service; 101 is no.
const policy = "/usr/sbin/policy-rc.d"

// Install has Debian's package manager install rivals that are missing, without starting their services. It needs root and is bounded
// in time.
func Install(ctx context.Context, missing []Rival) error {
	if len(missing) == 0 {
		return nil
	}
	if os.Geteuid() != 0 {
		return errors.New("only root may install packages")
	}
	apt, err := exec.LookPath("apt-get")
	if err != nil {
		return errors.New("there is no apt-get")
	}
	ctx, cancel := context.WithTimeout(ctx, installWait)
	defer cancel()
	if _, err := os.Lstat(policy); errors.Is(err, fs.ErrNotExist) {
		//nolint:gosec // it has to be executable
		if err := os.WriteFile(policy, []byte("#!/bin/sh\nexit 101\n"), 0o755); err != nil {
			return fmt.Errorf("keep services from starting: %w", err)
		}
		defer func() { _ = os.Remove(policy) }()
	}
	env := append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	for _, args := range [][]string{{"update", "-qq"}, installArgs(missing)} {
		cmd := exec.CommandContext(ctx, apt, args...) //nolint:gosec // fixed names of packages
		cmd.Env = env
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("apt-get %s: %w: %s", args[0], err, lastLine(out))
		}
	}
	return nil
}

func installArgs(missing []Rival) []string {
	args := []string{"install", "-y", "-qq", "--no-install-recommends"}
	for _, r := range missing {
		args = append(args, r.Package)
	}
	return args
}

func lastLine(out []byte) []byte {
	out = bytes.TrimSpace(out)
	return out[bytes.LastIndexByte(out, '\n')+1:]
}
