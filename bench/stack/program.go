package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"modelgate.internal/shared/child"
)

// programs lists the processes beside the database, in the order of their start. The nodes come last.
func (s *Stack) programs() (parts, nodes []*part) {
	if s.simulated() {
		p := s.programPart("mockmodel", "mockmodel", "-listen", s.address(portSimulator), "-model", simulatorModel)
		p.ready = "http://" + s.address(portSimulator) + "/health"
		parts = append(parts, p)
	}
	box := s.programPart("mailbox", "mailbox", "-smtp", s.address(portMailboxSMTP), "-listen", s.address(portMailbox))
	box.ready = "http://" + s.address(portMailbox) + "/health"
	parts = append(parts, box)
	if !s.paid() {
		p := s.programPart("stripesim", "stripesim", "-listen", s.address(portStripe), "-webhook", s.metricsURL(portControl)+"/dev/billing/webhook",
			"-secret-file", s.at.secret(secretStripeWebhook))
		p.ready = "http://" + s.address(portStripe) + "/health"
		parts = append(parts, p)
	}
	p := s.programPart("controlplane", "controlplane", "-config", s.at.config("controlplane"), "serve")
	p.ready, p.door = s.metricsURL(portControlMetrics)+"/readyz", s.address(portControl)
	parts = append(parts, p)
	for n := range s.o.Nodes {
		name := nodeName(n)
		p := s.programPart(name, "dataplane", "-config", s.at.config(name), "serve")
		p.ready, p.door = s.metricsURL(nodePort(n, portNodeMetrics))+"/readyz", s.address(nodePort(n, portGateway))
		nodes = append(nodes, p)
	}
	return parts, nodes
}

// programPart is a part that runs one of our programs. What it writes goes straight to its log, so that it neither waits for
// us nor loses its last words.
func (s *Stack) programPart(name, program string, args ...string) *part {
	p := &part{name: name, at: s.at, out: s.out}
	p.launch = func(context.Context) (*child.Process, error) {
		log, err := os.OpenFile(s.at.log(name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, fmt.Errorf("open its log: %w", err)
		}
		defer func() { _ = log.Close() }()
		cmd := exec.Command(s.at.program(program), args...) //nolint:gosec,noctx // one of our programs; it ends by Stop
		cmd.Stdout, cmd.Stderr, cmd.Env = log, log, s.environ()
		return child.Start(cmd, syscall.SIGKILL)
	}
	p.halt = func(proc *child.Process) {
		proc.Stop(child.Step{Signal: syscall.SIGTERM, Wait: stopPolite})
	}
	return p
}

// tool runs one of our programs to its end.
func (s *Stack) tool(ctx context.Context, what, program string, args ...string) error {
	_, err := s.output(ctx, what, program, args...)
	return err
}

// output runs one of our programs to its end and returns what it writes to standard output.
func (s *Stack) output(ctx context.Context, what, program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, toolWait)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.at.program(program), args...) //nolint:gosec // one of our programs
	cmd.Env = s.environ()
	var out, failure strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &failure
	if err := cmd.Run(); err != nil {
		said := strings.TrimSpace(out.String() + failure.String())
		return "", errors.Join(fmt.Errorf("%s: run %s %s: %w", what, program, strings.Join(args, " "), err), errors.New(said))
	}
	return out.String(), nil
}

// environ is the environment of every process.
func (s *Stack) environ() []string {
	env := append(os.Environ(), s.o.Env...)
	if s.o.ChatKey != "" {
		env = append(env, chatKeyVariable+"="+s.o.ChatKey)
	}
	return env
}

// simulatorModel is what the simulator calls itself; "mock:SCENARIO" asks it for a fault.
const simulatorModel = "mock"

// chatKeyVariable holds the key of the model server; the nodes read it, and no file does.
const chatKeyVariable = "MODELGATE_CHAT_KEY"
