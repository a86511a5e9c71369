package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"os/signal"
	"syscall"

	"modelgate.internal/bench/stack"
	"modelgate.internal/shared/conf"
	"modelgate.internal/shared/run"
)

// Config is what can be set, by flag or by environment: -port-base is MODELGATE_PORT_BASE. The servers of other capabilities
// than the chat are set by the environment alone; see package stack.
type Config struct {
	Dir       string      `conf:"dir" yaml:"dir" help:"directory for everything that is kept" default:".modelgate"`
	Bin       string      `conf:"bin" yaml:"bin" help:"directory of the programs" default:"bin"`
	PortBase  int         `conf:"port_base" yaml:"port_base" help:"first of the ports" default:"8080"`
	Nodes     int         `conf:"nodes" yaml:"nodes" help:"number of data-plane nodes" default:"1"`
	Fsync     bool        `conf:"fsync" yaml:"fsync" help:"keep the database's data for good" default:"true"`
	ChatURL   string      `conf:"chat_url" yaml:"chat_url" help:"base URL of an OpenAI-compatible server; empty runs the simulator"`
	ChatKey   conf.Secret `conf:"chat_key" yaml:"chat_key" help:"key of that server, if it wants one"`
	ChatModel string      `conf:"chat_model" yaml:"chat_model" help:"what that server calls the model"`
	ChatTakes string      `conf:"chat_parameters" yaml:"chat_parameters" help:"members of a chat completion request that server takes beyond OpenAI's common ones: names, or llama.cpp, sglang, vllm"`
	LogLevel  string      `conf:"log_level" yaml:"log_level" help:"of both planes: debug, info, warn or error" default:"info"`
}

func main() {
	os.Exit(run.Main(os.Stderr, "stack", func(ctx context.Context) error {
		return serve(ctx, os.Args[1:], os.Stdout)
	}))
}

// serve runs a stack until ctx ends.
func serve(ctx context.Context, args []string, out io.Writer) error {
	var c Config
	rest, err := conf.Load(&c, conf.Options{Name: "stack", EnvPrefix: "MODELGATE", Args: args})
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return errors.New("there are no arguments beside flags")
	}
	if c.ChatURL != "" && c.ChatModel == "" {
		return errors.New("MODELGATE_CHAT_URL needs MODELGATE_CHAT_MODEL, the name that the server knows its model by")
	}
	key := ""
	if c.ChatKey.IsSet() {
		if key, err = c.ChatKey.Value(); err != nil {
			return err
		}
	}
	ctx, cancel := signal.NotifyContext(ctx, syscall.SIGHUP) // the terminal was closed
	defer cancel()
	s, err := stack.Start(ctx, stack.Options{
		Dir: c.Dir, Bin: c.Bin, PortBase: c.PortBase, Nodes: c.Nodes, Fsync: c.Fsync,
		ChatURL: c.ChatURL, ChatKey: key, ChatModel: c.ChatModel, ChatTakes: c.ChatTakes, LogLevel: c.LogLevel, Out: out,
	})
	if err != nil {
		if ctx.Err() != nil {
			return errors.New("told to end before everything was started")
		}
		return err
	}
	s.Banner(out)
	<-ctx.Done()
	_, err = io.WriteString(out, "\nstopping\n")
	s.Stop()
	return err
}
