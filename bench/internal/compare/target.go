package compare

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"

	"modelgate.internal/bench/internal/load"
	"modelgate.internal/bench/internal/proc"
	"modelgate.internal/bench/rivals"
	"modelgate.internal/shared/child"
)

// The bodies sent: the same question in the two languages, about as long as each other.
const (
	chatBody    = `{"model":"mock","messages":[{"role":"user","content":"Tell me about the weather of the coast in one paragraph, please."}],"temperature":0.7,"max_tokens":2048`
	gatewayBody = `{"model":"Darwin","prompt":"Tell me about the weather of the coast in one paragraph, please.","temperature":0.7,"max_tokens":2048`
)

func body(text string, stream bool) []byte {
	if stream {
		text += `,"stream":true`
	}
	return []byte(text + "}")
}

// chat is what a target that only forwards is asked.
func chat(address, secret string, stream bool) (load.Target, error) {
	return load.NewTarget("http://"+address+"/v1/chat/completions", []string{"Authorization: Bearer " + secret}, body(chatBody, stream))
}

// direct is the simulator without anything before it.
type direct struct{ address string }

func (d direct) name() string                         { return Direct }
func (d direct) fresh(context.Context, bool) error    { return nil }
func (d direct) stop()                                {}
func (d direct) watch() []proc.Watched                { return nil }
func (d direct) aim(stream bool) (load.Target, error) { return chat(d.address, "none", stream) }

// rival is a proxy of package rivals.
type rival struct {
	rivals.Rival

	settings rivals.Settings
	proc     *child.Process
}

func (r *rival) name() string { return r.Name }

func (r *rival) fresh(ctx context.Context, restart bool) (err error) {
	if r.proc != nil && r.proc.Running() && !restart {
		return nil
	}
	r.stop()
	r.proc, err = r.Start(ctx, r.settings)
	return err
}

func (r *rival) stop() {
	if r.proc != nil {
		r.Stop(r.proc)
		r.proc = nil
	}
}

func (r *rival) watch() []proc.Watched {
	return []proc.Watched{{Name: r.Name, Pid: r.proc.Pid()}}
}

func (r *rival) aim(stream bool) (load.Target, error) {
	return chat(r.settings.Listen, r.settings.Key, stream)
}

// freePorts finds addresses for the simulator and the rivals, below the ports that the kernel gives to outgoing connections:
// thousands of those come and go here.
func freePorts(ctx context.Context) ([]string, error) {
	const from, to, triesMax = 15_000, 20_000, 200
	need := 1 + len(rivals.All())
	var addresses []string
	var last error
	for range triesMax {
		if len(addresses) == need {
			return addresses, nil
		}
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(from+rand.IntN(to-from))) //nolint:gosec // no secret
		var config net.ListenConfig
		l, err := config.Listen(ctx, "tcp", address)
		if err != nil {
			last = err
			continue
		}
		_ = l.Close()
		addresses = append(addresses, address)
	}
	return nil, fmt.Errorf("find free ports: %w", last)
}
