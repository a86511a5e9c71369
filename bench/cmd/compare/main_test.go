package main

import (
	"io"
	"testing"
)

func TestFlags(t *testing.T) {
	for _, tc := range []struct {
		args  []string
		code  int
		fails bool
	}{
		{[]string{"-help"}, 0, false},
		{[]string{"-nonsense"}, 2, false},
		{[]string{"extra"}, 2, false},
		{[]string{"-targets", "nonsense"}, 1, true},
		{[]string{"-targets", "direct", "-bin", "/does/not/exist"}, 1, true},
	} {
		if code, err := command(t.Context(), tc.args, io.Discard, io.Discard); code != tc.code || (err != nil) != tc.fails {
			t.Errorf("%v: %d, %v", tc.args, code, err)
		}
	}
}
