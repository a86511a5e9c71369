package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"modelgate.internal/dataplane/internal/spool"
	"modelgate.internal/shared/conf"
)

// Config is what an operator can set.
type Config struct {
	Name          string      `conf:"name" yaml:"name" default:"dataplane-1" help:"name of this node, unique among the nodes"`
	Listen        string      `conf:"listen" yaml:"listen" default:"127.0.0.1:8081" help:"address of the gateway host"`
	DarwinListen  string      `conf:"darwin_listen" yaml:"darwin_listen" default:"127.0.0.1:8082" help:"address of the Darwin host"`
	MetricsListen string      `conf:"metrics_listen" yaml:"metrics_listen" default:"127.0.0.1:8085" help:"private address of /metrics, /healthz, /readyz and /debug/pprof"`
	ControlURL    string      `conf:"control_url" yaml:"control_url" default:"http://127.0.0.1:8083" help:"the control plane's internal listener"`
	JoinToken     conf.Secret `conf:"join_token" yaml:"join_token" help:"lets the node join for the first time: file:PATH, env:NAME or the token"`
	DataDir       string      `conf:"data_dir" yaml:"data_dir" default:".modelgate/dataplane" help:"directory of the node's state"`
	GatewayURL    string      `conf:"gateway_url" yaml:"gateway_url" default:"http://127.0.0.1:8081" help:"public address of the gateway host, named in answers"`
	DarwinURL     string      `conf:"darwin_url" yaml:"darwin_url" default:"http://127.0.0.1:8082" help:"public address of the Darwin host, named in answers"`

	TLSCertFile  string      `conf:"tls_cert_file" yaml:"tls_cert_file" help:"certificate chain in PEM: both hosts speak HTTPS; read again when it changes and on SIGHUP"`
	TLSKeyFile   string      `conf:"tls_key_file" yaml:"tls_key_file" help:"its key in PEM"`
	QuotaListen  string      `conf:"quota_listen" yaml:"quota_listen" help:"address of the rate-limit ledger, for other nodes of the cluster; empty if this node is alone"`
	QuotaAddress string      `conf:"quota_address" yaml:"quota_address" help:"what other nodes reach quota_listen by, HOST:PORT; empty: as it is"`
	QuotaPeers   string      `conf:"quota_peers" yaml:"quota_peers" help:"addresses of voters of the rate-limit ledger, with commas between; they are learned too"`
	QuotaJoin    conf.Secret `conf:"quota_join" yaml:"quota_join" help:"token by which the node joins the rate-limit ledger with its first start: file:PATH, env:NAME or the token"`

	// Credentials of upstreams by the name that the published configuration calls them. They are set in the file, each as
	// file:PATH, env:NAME or the value, and never leave the node except to the upstream.
	Credentials map[string]conf.Secret `yaml:"credentials"`

	DrainWait time.Duration `conf:"drain_wait" yaml:"drain_wait" default:"0s" help:"after readiness went off, how long to go on accepting: as long as the load balancer takes to notice"`
	DrainTime time.Duration `conf:"drain_time" yaml:"drain_time" default:"30s" help:"how long calls may take to finish when the node stops; several minutes where streams are long"`

	UploadTime time.Duration `conf:"upload_time" yaml:"upload_time" default:"10m" help:"longest time for the body of an upload, which may not stall for 15s either"`
	WriteTime  time.Duration `conf:"write_time" yaml:"write_time" default:"30s" help:"how long a client may read nothing of what it is sent before it is cut"`

	Compress bool `conf:"compress" yaml:"compress" default:"false" help:"compress whole answers above 1 KiB, zstd or gzip by what the client accepts: costs about as much CPU as the rest of a call, saves two thirds of the bytes"`

	UsageSync string `conf:"usage_sync" yaml:"usage_sync" default:"batch" help:"when usage records are on disk: batch, in groups, so that at most 20 ms of them are at risk when the power goes; answer, before the end of each answer leaves, which then waits for the disk"`

	CallTime    time.Duration `conf:"call_time" yaml:"call_time" default:"30m" help:"longest time of a call"`
	ConnectTime time.Duration `conf:"connect_time" yaml:"connect_time" default:"5s" help:"longest time to connect to an upstream"`
	HeadTime    time.Duration `conf:"head_time" yaml:"head_time" default:"60s" help:"longest wait for the head of an upstream's stream"`
	FirstTime   time.Duration `conf:"first_time" yaml:"first_time" default:"60s" help:"longest wait from there to its first event"`
	IdleTime    time.Duration `conf:"idle_time" yaml:"idle_time" default:"60s" help:"longest silence between two events"`
	AnswerTime  time.Duration `conf:"answer_time" yaml:"answer_time" default:"5m" help:"longest wait for an answer that is not streamed"`
	KeepAlive   time.Duration `conf:"keep_alive" yaml:"keep_alive" default:"10s" help:"silence of a stream before the client is sent a comment; 0s sends none"`

	PublicTranslate    int `conf:"public_translate" yaml:"public_translate" default:"20" help:"calls a minute of /api/translate, which needs no key, from one address; 0 turns it off"`
	PublicTranslateAll int `conf:"public_translate_all" yaml:"public_translate_all" default:"600" help:"the same from all addresses together"`

	ConnsMax         int    `conf:"conns_max" yaml:"conns_max" default:"20000" help:"open connections of clients"`
	UpstreamConnsMax int    `conf:"upstream_conns_max" yaml:"upstream_conns_max" default:"10000" help:"connections to one upstream"`
	BodyMemory       string `conf:"body_memory" yaml:"body_memory" default:"512MiB" help:"memory for large request bodies, at least 64MiB; one account gets half of it at most, less when others need some. The node needs up to four times as much memory"`
	GOMEMLIMIT       string `conf:"gomemlimit" yaml:"gomemlimit" help:"memory limit of the process, for instance 750MiB: about three quarters of the container's; collects less often until then"`

	LogLevel  string `conf:"log_level" yaml:"log_level" default:"info" help:"debug, info, warn or error"`
	LogFormat string `conf:"log_format" yaml:"log_format" default:"json" help:"json or text"`
}

// times checks the durations without which connections could not be served.
func (c *Config) times() error {
	var failed error
	for setting, d := range map[string]time.Duration{"call_time": c.CallTime, "drain_time": c.DrainTime, "upload_time": c.UploadTime} {
		if d <= 0 {
			failed = errors.Join(failed, fmt.Errorf("%s: must be positive", setting))
		}
	}
	if c.WriteTime < writeTimeMin {
		failed = errors.Join(failed, fmt.Errorf("write_time: must be at least %s", writeTimeMin))
	}
	return failed
}

// usageSync checks when records are to reach the disk.
func (c *Config) usageSync() error {
	if c.UsageSync != "" && c.UsageSync != spool.SyncBatch && c.UsageSync != spool.SyncAnswer {
		return fmt.Errorf("usage_sync: %q is neither %s nor %s", c.UsageSync, spool.SyncBatch, spool.SyncAnswer)
	}
	return nil
}

// writeTimeMin is above the second for which the deadline of a write is left as it is.
const writeTimeMin = 2 * time.Second

// credential returns the secret that a published upstream names.
func (c *Config) credential(name string) (string, error) {
	secret, ok := c.Credentials[name]
	if !ok {
		return "", errors.New("not in the node's configuration under credentials")
	}
	return secret.Value()
}

// bodyMemoryMin has room for the largest body in chunks, which is held twice for a moment, within the half of one account.
const bodyMemoryMin = 64 << 20

// bodyMemory is the memory for large request bodies, in bytes.
func (c *Config) bodyMemory() (int64, error) {
	room, err := bytesOf("body_memory", c.BodyMemory)
	if err == nil && room < bodyMemoryMin {
		err = fmt.Errorf("body_memory: %s is less than 64MiB", c.BodyMemory)
	}
	return room, err
}

// bytesOf reads a size such as 512MiB.
func bytesOf(setting, text string) (int64, error) {
	units := map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
	for unit, size := range units {
		if digits, ok := strings.CutSuffix(text, unit); ok {
			n, err := strconv.ParseInt(digits, 10, 64)
			if err == nil && n > 0 && n <= math.MaxInt64/size {
				return n * size, nil
			}
		}
	}
	return 0, fmt.Errorf("%s: %q is not a size such as 512MiB or 2GiB", setting, text)
}
