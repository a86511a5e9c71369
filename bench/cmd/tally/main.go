package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

// lineBytesMax bounds one event; go test cuts output into lines before that.
const lineBytesMax = 16 << 20

func main() {
	vitest := flag.String("vitest", "", "report of vitest to add, JSON")
	flag.Parse()
	os.Exit(tally(os.Stdin, os.Stdout, *vitest))
}

// event is one line of go test -json; see `go doc test2json`.
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
}

// counter shows events and counts results.
type counter struct {
	out            io.Writer
	passed, failed int
	held           map[string]*strings.Builder // output of a test, until its result is known
	broken         map[string]bool             // packages with a failed test
}

// tally returns the exit status.
func tally(in io.Reader, out io.Writer, vitest string) int {
	c := &counter{out: out, held: map[string]*strings.Builder{}, broken: map[string]bool{}}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, lineBytesMax)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil || e.Action == "" {
			fmt.Fprintln(out, lines.Text())
			continue
		}
		c.take(e)
	}
	if err := lines.Err(); err != nil {
		fmt.Fprintln(out, "tally:", err)
		c.failed++
	}
	if vitest != "" {
		if err := c.add(vitest); err != nil {
			fmt.Fprintln(out, "tally:", err)
			c.failed++
		}
	}
	fmt.Fprintf(out, "%d passed, %d failed\n", c.passed, c.failed)
	if c.failed > 0 || c.passed == 0 {
		return 1
	}
	return 0
}

func (c *counter) take(e event) {
	switch {
	case e.Action == "build-output":
		fmt.Fprint(c.out, e.Output)
	case e.Test == "":
		c.takePackage(e)
	case e.Action == "output":
		c.hold(e)
	case e.Action == "pass":
		c.passed++
		delete(c.held, e.Package+"\x00"+e.Test)
	case e.Action == "skip":
		delete(c.held, e.Package+"\x00"+e.Test)
	case e.Action == "fail":
		c.failed++
		c.broken[e.Package] = true
		c.show(e.Package + "\x00" + e.Test)
	}
}

func (c *counter) takePackage(e event) {
	switch e.Action {
	case "output":
		// "PASS" is the last word of a test binary, which go test keeps to itself.
		if e.Output != "PASS\n" {
			fmt.Fprint(c.out, e.Output)
		}
	case "fail":
		// A test without a result is the one that was running when the process ended.
		for key := range c.held {
			if strings.HasPrefix(key, e.Package+"\x00") {
				c.show(key)
			}
		}
		if !c.broken[e.Package] {
			c.failed++
		}
	}
}

func (c *counter) hold(e event) {
	if strings.HasPrefix(e.Output, "=== ") {
		return // RUN, PAUSE, CONT: go test shows them with -v only
	}
	key := e.Package + "\x00" + e.Test
	if c.held[key] == nil {
		c.held[key] = &strings.Builder{}
	}
	c.held[key].WriteString(e.Output)
}

func (c *counter) show(key string) {
	if text := c.held[key]; text != nil {
		fmt.Fprint(c.out, text)
		delete(c.held, key)
	}
}

// add counts the results in a report of vitest.
func (c *counter) add(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the report of vitest: %w", err)
	}
	var report struct {
		Passed       *int `json:"numPassedTests"`
		Failed       *int `json:"numFailedTests"`
		FailedSuites int  `json:"numFailedTestSuites"`
	}
	if err := json.Unmarshal(text, &report); err != nil {
		return fmt.Errorf("read the report of vitest: %w", err)
	}
	if report.Passed == nil || report.Failed == nil {
		return fmt.Errorf("read the report of vitest: %s has no counts", path)
	}
	c.passed += *report.Passed
	c.failed += *report.Failed
	if *report.Failed == 0 {
		c.failed += report.FailedSuites // files that could not be loaded
	}
	return nil
}
