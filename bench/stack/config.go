package stack

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/goccy/go-yaml"

	"modelgate.internal/shared/plane"
)

// controlConfig is the configuration of the control plane as far as the stack sets it.
type controlConfig struct {
	Listen         string               `yaml:"listen"`
	InternalListen string               `yaml:"internal_listen"`
	MetricsListen  string               `yaml:"metrics_listen"`
	PublicURL      string               `yaml:"public_url"`
	GatewayURL     string               `yaml:"gateway_url"`
	DarwinURL      string               `yaml:"darwin_url"`
	DatabaseURL    string               `yaml:"database_url"`
	KeyEncryption  string               `yaml:"key_encryption_key"`
	KeyPepper      string               `yaml:"key_pepper"`
	SessionKey     string               `yaml:"session_key"`
	JoinToken      string               `yaml:"join_token"`
	MailSMTPURL    string               `yaml:"mail_smtp_url"`
	MailFrom       string               `yaml:"mail_from"`
	MailTLS        string               `yaml:"mail_tls"`
	StripeKey      string               `yaml:"stripe_secret_key"`
	StripeWebhook  string               `yaml:"stripe_webhook_secret"`
	StripePublic   string               `yaml:"stripe_publishable_key,omitempty"`
	StripeAPIURL   string               `yaml:"stripe_api_url,omitempty"`
	LogLevel       string               `yaml:"log_level"`
	LogFormat      string               `yaml:"log_format"`
	Models         []plane.Model        `yaml:"models"`
	Upstreams      []plane.UpstreamSpec `yaml:"upstreams"`
	Pools          []plane.PoolSpec     `yaml:"pools,omitempty"`
	Skills         []plane.SkillSpec    `yaml:"skills,omitempty"`
}

// nodeConfig is the configuration of a data-plane node as far as the stack sets it.
type nodeConfig struct {
	Name          string            `yaml:"name"`
	Listen        string            `yaml:"listen"`
	DarwinListen  string            `yaml:"darwin_listen"`
	MetricsListen string            `yaml:"metrics_listen"`
	ControlURL    string            `yaml:"control_url"`
	JoinToken     string            `yaml:"join_token"`
	DataDir       string            `yaml:"data_dir"`
	QuotaListen   string            `yaml:"quota_listen,omitempty"`
	QuotaAddress  string            `yaml:"quota_address,omitempty"`
	QuotaJoin     string            `yaml:"quota_join,omitempty"`
	Credentials   map[string]string `yaml:"credentials,omitempty"`
	GatewayURL    string            `yaml:"gateway_url"`
	DarwinURL     string            `yaml:"darwin_url"`
	LogLevel      string            `yaml:"log_level"`
	LogFormat     string            `yaml:"log_format"`
}

// secretNames are the files that keygen writes.
const (
	secretKeyEncryption = "key_encryption_key"
	secretKeyPepper     = "key_pepper"
	secretSession       = "session_key"
	secretJoin          = "join_token"
)

// chatTasks are what a chat model can be asked for.
func chatTasks() []string { return []string{"conversation", "reasoning", "planning", "code", "vision"} }

// makeSecrets has the control plane make its secrets in the first run.
func (s *Stack) makeSecrets(ctx context.Context) error {
	missing := false
	for _, name := range []string{secretKeyEncryption, secretKeyPepper, secretSession, secretJoin} {
		_, err := os.Stat(s.at.secret(name))
		missing = missing || err != nil
	}
	if !missing {
		return nil
	}
	s.out.say("making secrets in %s", s.at.secrets)
	return s.tool(ctx, "make secrets", "controlplane", "keygen", "-dir", s.at.secrets)
}

// writeConfigs writes the configuration of every process, anew with each start.
func (s *Stack) writeConfigs() error {
	secret := func(name string) string { return "file:" + s.at.secret(name) }
	chat := plane.UpstreamSpec{ID: "chat", Dialect: plane.DialectChat, BaseURL: s.o.ChatURL, Model: s.o.ChatModel, Parameters: s.o.ChatTakes}
	if s.o.ChatKey != "" {
		chat.Credential = "chat"
	}
	if s.simulated() {
		chat.BaseURL, chat.Model, chat.Simulator = "http://"+s.address(portSimulator)+"/v1", simulatorModel, true
	}
	server, pools := chat.ID, []plane.PoolSpec(nil)
	if s.o.OneAttempt {
		chat.Breaker.Failures, server = -1, "chat-once"
		pools = []plane.PoolSpec{{ID: server, Members: []plane.Member{{Upstream: chat.ID}}, Retry: plane.Retry{Attempts: 1}}}
	}
	models, upstreams, credentials := s.catalog()
	skills, hosts := s.skillCatalog(credentials)
	for _, id := range []string{"Darwin", "Nova"} {
		models = append(models, plane.Model{ID: id, Family: "darwin", Tasks: chatTasks(), Upstream: server, Setting: "MODELGATE_CHAT_URL"})
	}
	if chat.Credential != "" {
		credentials[chat.Credential] = "env:" + chatKeyVariable
	}
	stripe, err := s.stripe()
	if err != nil {
		return err
	}
	err = writeYAML(s.at.config("controlplane"), controlConfig{
		Listen: s.address(portControl), InternalListen: s.address(portControlInternal), MetricsListen: s.address(portControlMetrics),
		PublicURL: "http://" + s.address(portControl), GatewayURL: "http://" + s.address(portGateway), DarwinURL: "http://" + s.address(portDarwin),
		DatabaseURL: s.databaseURL(), KeyEncryption: secret(secretKeyEncryption), KeyPepper: secret(secretKeyPepper),
		SessionKey: secret(secretSession), JoinToken: secret(secretJoin),
		MailSMTPURL: "smtp://" + s.address(portMailboxSMTP), MailFrom: "Modelgate on this machine <noreply@modelgate.local>", MailTLS: "none",
		StripeKey: stripe.key, StripeWebhook: stripe.webhook, StripePublic: stripe.publishable, StripeAPIURL: stripe.apiURL,
		LogLevel: s.o.LogLevel, LogFormat: "text", Models: models, Upstreams: append(append(upstreams, hosts...), chat), Pools: pools,
		Skills: skills,
	})
	if err != nil {
		return err
	}
	for n := range s.o.Nodes {
		data := filepath.Join(s.at.dir, nodeName(n))
		if err := os.MkdirAll(data, 0o700); err != nil {
			return fmt.Errorf("make a node's directory: %w", err)
		}
		node := nodeConfig{
			Name: nodeName(n), Listen: s.address(nodePort(n, portGateway)), DarwinListen: s.address(nodePort(n, portDarwin)),
			MetricsListen: s.address(nodePort(n, portNodeMetrics)), ControlURL: "http://" + s.address(portControlInternal),
			JoinToken: secret(secretJoin), DataDir: data, GatewayURL: "http://" + s.address(portGateway),
			DarwinURL: "http://" + s.address(portDarwin), LogLevel: s.o.LogLevel, LogFormat: "text",
			Credentials: credentials,
		}
		if s.o.Nodes > 1 {
			node.QuotaListen = s.address(nodePort(n, portQuota))
			if s.o.QuotaVia != nil {
				node.QuotaAddress = s.o.QuotaVia(node.QuotaListen)
			}
		}
		if n > 0 {
			node.QuotaJoin = "file:" + s.tokenFile(node.Name)
		}
		if err := writeYAML(s.at.config(node.Name), node); err != nil {
			return err
		}
	}
	return nil
}

func writeYAML(path string, v any) error {
	text, err := yaml.Marshal(v)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return writeFile(path, append([]byte("# Written by the stack with each start; changes are lost.\n"), text...))
}

func nodeName(n int) string { return "dataplane-" + strconv.Itoa(n+1) }
