package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTally(t *testing.T) {
	report := filepath.Join(t.TempDir(), "vitest.json")
	if err := os.WriteFile(report, []byte(`{"numPassedTests":5,"numFailedTests":0}`), 0o600); err != nil {
		t.Fatal(err)
	}
	unloaded := filepath.Join(t.TempDir(), "unloaded.json")
	if err := os.WriteFile(unloaded, []byte(`{"numPassedTests":5,"numFailedTests":0,"numFailedTestSuites":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	const good = `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:1: chatter\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"--- PASS: TestA (0.00s)\n"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"skip","Package":"p","Test":"TestB"}
{"Action":"output","Package":"p","Output":"PASS\n"}
{"Action":"output","Package":"p","Output":"ok  \tp\t0.1s\n"}
{"Action":"pass","Package":"p"}
`
	for _, c := range []struct {
		name, in, vitest, want string
		status                 int
	}{
		{"all good", good, "", "ok  \tp\t0.1s\n1 passed, 0 failed\n", 0},
		{"with the portal's", good, report, "ok  \tp\t0.1s\n6 passed, 0 failed\n", 0},
		{"with a file of the portal that cannot be loaded", good, unloaded, "ok  \tp\t0.1s\n6 passed, 1 failed\n", 1},
		{"nothing", "", "", "0 passed, 0 failed\n", 1},
		{
			"a failure", `{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:1: wrong\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"--- FAIL: TestA (0.00s)\n"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Output":"FAIL\tp\t0.1s\n"}
{"Action":"fail","Package":"p"}
`, "", "    a_test.go:1: wrong\n--- FAIL: TestA (0.00s)\nFAIL\tp\t0.1s\n0 passed, 1 failed\n", 1,
		},
		{
			"a package that does not build", good + `{"ImportPath":"q","Action":"build-output","Output":"q.go:1: undefined: x\n"}
{"ImportPath":"q","Action":"build-fail"}
{"Action":"output","Package":"q","Output":"FAIL\tq [build failed]\n"}
{"Action":"fail","Package":"q","FailedBuild":"q"}
`, "", "ok  \tp\t0.1s\nq.go:1: undefined: x\nFAIL\tq [build failed]\n1 passed, 1 failed\n", 1,
		},
		{
			"a panic", `{"Action":"output","Package":"p","Test":"TestA","Output":"panic: no\n"}
{"Action":"fail","Package":"p"}
`, "", "panic: no\n0 passed, 1 failed\n", 1,
		},
		{"no JSON", "go: something is wrong\n", "", "go: something is wrong\n0 passed, 0 failed\n", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			status := tally(strings.NewReader(c.in), &out, c.vitest)
			if out.String() != c.want || status != c.status {
				t.Errorf("status %d, output\n%s\nwant status %d, output\n%s", status, out.String(), c.status, c.want)
			}
		})
	}
	var out strings.Builder
	if tally(strings.NewReader(good), &out, "/does/not/exist") == 0 {
		t.Error("a missing report was overlooked")
	}
}
