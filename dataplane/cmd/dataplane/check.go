package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"modelgate.internal/dataplane/internal/spool"
	"modelgate.internal/shared/conf"
	"modelgate.internal/shared/obs"
)

// check explains a configuration: what would be served where and by what. Secrets are named by their source. It changes
// nothing and asks nobody.
func check(w io.Writer, cfg *Config) error {
	c := checker{w: w}
	c.say("node", "%s, version %s", cfg.Name, obs.Version())
	c.address("gateway host", "listen", cfg.Listen)
	c.say("", "told to callers as %s", cfg.GatewayURL)
	c.address("Darwin host", "darwin_listen", cfg.DarwinListen)
	c.say("", "told to callers as %s", cfg.DarwinURL)
	c.certificate(cfg)
	c.address("metrics, probes, profiles", "metrics_listen", cfg.MetricsListen)
	c.control(cfg)
	c.data(cfg)
	c.quota(cfg)
	c.credentials(cfg)
	c.say("calls", "at most %s; upstreams: connect %s, head %s, first event %s, silence %s, whole answer %s",
		cfg.CallTime, cfg.ConnectTime, cfg.HeadTime, cfg.FirstTime, cfg.IdleTime, cfg.AnswerTime)
	c.say("keep-alive comment", "after %s of silence", cfg.KeepAlive)
	c.say("clients", "cut when they read nothing for %s; uploads take at most %s", cfg.WriteTime, cfg.UploadTime)
	c.say("compression", "%s", map[bool]string{false: "off (compress)", true: "of whole answers, for clients that accept zstd or gzip"}[cfg.Compress])
	if cfg.PublicTranslate > 0 {
		c.say("translation without a key", "%d calls a minute from one address, %d from all (public_translate)", cfg.PublicTranslate, cfg.PublicTranslateAll)
	} else {
		c.say("translation without a key", "off (public_translate)")
	}
	c.say("stopping", "not ready for %s, then %s for calls to finish", cfg.DrainWait, cfg.DrainTime)
	if err := cfg.times(); err != nil {
		c.fail(err)
	}
	c.memory(cfg)
	c.usage(cfg)
	if _, err := obs.Logger(io.Discard, cfg.LogLevel, cfg.LogFormat); err != nil {
		c.fail(err)
	}
	c.say("log", "%s and above, as %s, to standard error", cfg.LogLevel, cfg.LogFormat)
	if c.failed != nil {
		return fmt.Errorf("the node could not serve by this configuration:\n%w", c.failed)
	}
	c.say("", "the node can serve by this configuration")
	return nil
}

type checker struct {
	w      io.Writer
	failed error
}

func (c *checker) say(what, format string, args ...any) {
	fmt.Fprintf(c.w, "%-28s%s\n", what, fmt.Sprintf(format, args...))
}

func (c *checker) fail(err error) { c.failed = errors.Join(c.failed, err) }

func (c *checker) address(what, setting, address string) {
	c.say(what, "%s (%s)", address, setting)
	if _, err := net.ResolveTCPAddr("tcp", address); err != nil {
		c.fail(fmt.Errorf("%s: %w", setting, err))
	}
}

func (c *checker) certificate(cfg *Config) {
	certificate, err := openCertificate(cfg)
	switch {
	case err != nil:
		c.fail(err)
	case certificate == nil:
		c.say("TLS", "off: both hosts speak plain HTTP (tls_cert_file)")
	default:
		leaf := certificate.Leaf()
		c.say("TLS", "both hosts, for %s; expires %s", strings.Join(leaf.DNSNames, ", "), leaf.NotAfter.UTC().Format(time.RFC3339))
		if time.Now().After(leaf.NotAfter) {
			c.fail(fmt.Errorf("tls_cert_file: %s expired %s", cfg.TLSCertFile, leaf.NotAfter.UTC().Format(time.RFC3339)))
		}
	}
}

func (c *checker) control(cfg *Config) {
	c.say("control plane", "%s; join token: %s", cfg.ControlURL, cfg.JoinToken)
	if u, err := url.Parse(cfg.ControlURL); err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		c.fail(errors.New("control_url: must be an http or https address"))
	}
	if cfg.JoinToken.IsSet() {
		c.secret("join_token", cfg.JoinToken)
	}
}

func (c *checker) data(cfg *Config) {
	c.say("data directory", "%s", cfg.DataDir)
	has := func(file string) bool {
		_, err := os.Stat(filepath.Join(cfg.DataDir, file))
		return err == nil
	}
	switch {
	case has("index.db"):
		c.say("", "it has a configuration: the node serves at once, also without the control plane")
	case has("node.json"):
		c.say("", "the node has joined but has no configuration yet: it serves once the control plane sent one")
	case cfg.JoinToken.IsSet():
		c.say("", "empty: the node joins first")
	default:
		c.fail(errors.New("join_token: is not set, and the node has no identity in its data directory"))
	}
	if info, err := os.Stat(cfg.DataDir); err == nil && !info.IsDir() {
		c.fail(fmt.Errorf("data_dir: %s is not a directory", cfg.DataDir))
	}
}

func (c *checker) credentials(cfg *Config) {
	if len(cfg.Credentials) == 0 {
		c.say("upstream credentials", "none")
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Credentials)) {
		c.say("upstream credential", "%s: %s", name, cfg.Credentials[name])
		c.secret("credentials."+name, cfg.Credentials[name])
	}
}

func (c *checker) usage(cfg *Config) {
	c.say("usage records", "%s (usage_sync)", map[bool]string{
		true:  "on disk before the end of each answer leaves",
		false: "survive the process at once and reach the disk in groups: the last 20 ms are at risk when the power goes",
	}[cfg.UsageSync == spool.SyncAnswer])
	if err := cfg.usageSync(); err != nil {
		c.fail(err)
	}
}

func (c *checker) secret(setting string, s conf.Secret) {
	if _, err := s.Value(); err != nil {
		c.fail(fmt.Errorf("%s: %w", setting, err))
	}
}

func (c *checker) memory(cfg *Config) {
	c.say("bounds", "%d connections of clients, %d to each upstream, %s for large bodies", cfg.ConnsMax, cfg.UpstreamConnsMax, cfg.BodyMemory)
	if _, err := cfg.bodyMemory(); err != nil {
		c.fail(err)
	}
	if cfg.ConnsMax < 1 {
		c.fail(fmt.Errorf("conns_max: %d is not positive", cfg.ConnsMax))
	}
	if cfg.GOMEMLIMIT == "" {
		return
	}
	c.say("memory limit", "%s", cfg.GOMEMLIMIT)
	if _, err := bytesOf("gomemlimit", cfg.GOMEMLIMIT); err != nil {
		c.fail(err)
	}
}
