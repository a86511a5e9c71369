package main

import (
	"errors"
	"fmt"
	"io"
	"net/url"

	"modelgate.internal/controlplane/internal/account"
	"modelgate.internal/controlplane/internal/billing"
	"modelgate.internal/controlplane/internal/catalog"
	"modelgate.internal/controlplane/internal/mail"
	"modelgate.internal/controlplane/internal/publish"
	"modelgate.internal/controlplane/internal/secret"
	"modelgate.internal/shared/conf"
	"modelgate.internal/shared/key"
	"modelgate.internal/shared/plane"
)

// Config is everything that an operator can set.
type Config struct {
	Listen               string      `yaml:"listen" conf:"listen" default:"127.0.0.1:8080" help:"address of the developer portal"`
	InternalListen       string      `yaml:"internal_listen" conf:"internal_listen" default:"127.0.0.1:8083" help:"address for the gateway nodes"`
	MetricsListen        string      `yaml:"metrics_listen" conf:"metrics_listen" default:"127.0.0.1:8084" help:"address of /metrics, /healthz, /readyz and /debug/pprof; keep it private"`
	PublicURL            string      `yaml:"public_url" conf:"public_url" default:"http://127.0.0.1:8080" help:"how browsers reach the portal"`
	GatewayURL           string      `yaml:"gateway_url" conf:"gateway_url" default:"http://127.0.0.1:8081" help:"how callers reach the gateway"`
	DarwinURL            string      `yaml:"darwin_url" conf:"darwin_url" default:"http://127.0.0.1:8082" help:"how callers reach the gateway's host for Darwin tokens"`
	GatewayInternal      string      `yaml:"gateway_internal_url" conf:"gateway_internal_url" help:"how the playground reaches the gateway; empty is gateway_url"`
	DatabaseURL          conf.Secret `yaml:"database_url" conf:"database_url" help:"postgres:// address of CockroachDB or PostgreSQL"`
	KeyEncryptionKey     conf.Secret `yaml:"key_encryption_key" conf:"key_encryption_key" help:"seals API keys at rest: 32 bytes in base64, one key a line, the current one first"`
	KeyPepper            conf.Secret `yaml:"key_pepper" conf:"key_pepper" help:"tags API keys: as key_encryption_key"`
	SessionKey           conf.Secret `yaml:"session_key" conf:"session_key" help:"signs portal sessions and stream tokens: as key_encryption_key"`
	JoinToken            conf.Secret `yaml:"join_token" conf:"join_token" help:"lets gateway nodes join; without it none can"`
	GoogleClientID       string      `yaml:"google_client_id" conf:"google_client_id" help:"client id for sign-in with Google; empty turns it off"`
	GoogleIssuer         string      `yaml:"google_issuer" conf:"google_issuer" default:"https://accounts.google.com" help:"who must have made the ID tokens"`
	GoogleJWKSURL        string      `yaml:"google_jwks_url" conf:"google_jwks_url" default:"https://www.googleapis.com/oauth2/v3/certs" help:"where the keys of the issuer are"`
	MailSMTPURL          string      `yaml:"mail_smtp_url" conf:"mail_smtp_url" help:"mail server, as smtp://user@host:587 or smtps://user@host:465; empty turns mail off"`
	MailSMTPPassword     conf.Secret `yaml:"mail_smtp_password" conf:"mail_smtp_password" help:"password of the user in mail_smtp_url"`
	MailFrom             string      `yaml:"mail_from" conf:"mail_from" help:"who mails are from, as Modelgate <noreply@example.com>"`
	MailTLS              string      `yaml:"mail_tls" conf:"mail_tls" default:"required" help:"required, or none for a relay on the same machine"`
	StripeSecretKey      conf.Secret `yaml:"stripe_secret_key" conf:"stripe_secret_key" help:"secret or restricted key of Stripe; without it plans cannot be bought"`
	StripeWebhookSecret  conf.Secret `yaml:"stripe_webhook_secret" conf:"stripe_webhook_secret" help:"signing secret of the webhook endpoint; two, one a line, while one is being replaced"`
	StripePublishableKey string      `yaml:"stripe_publishable_key" conf:"stripe_publishable_key" help:"publishable key of Stripe, for browsers"`
	StripeAPIURL         string      `yaml:"stripe_api_url" conf:"stripe_api_url" default:"https://api.stripe.com" help:"where Stripe is; any other address is a simulator"`
	MetricsAdmin         bool        `yaml:"metrics_admin" conf:"metrics_admin" help:"lets anybody who reaches the portal see the debug view of the public counters and reset them (default false)"`
	LogLevel             string      `yaml:"log_level" conf:"log_level" default:"info" help:"debug, info, warn or error"`
	LogFormat            string      `yaml:"log_format" conf:"log_format" default:"json" help:"json or text"`

	// What the nodes serve, in the file only; the fields are those of package plane.
	Models    []plane.Model        `yaml:"models"`    // what callers can name
	Upstreams []plane.UpstreamSpec `yaml:"upstreams"` // the model servers behind them
	Pools     []plane.PoolSpec     `yaml:"pools"`     // groups of upstreams that serve as one
	Skills    []plane.SkillSpec    `yaml:"skills"`    // what callers can invoke by name

	Images []catalog.Image `yaml:"images"` // for hardware, to be downloaded; in the file only
}

func (c *Config) catalog() publish.Catalog {
	return publish.Catalog{Models: c.Models, Upstreams: c.Upstreams, Pools: c.Pools, Skills: c.Skills}
}

// checkCatalog reports what the nodes could not serve by.
func (c *Config) checkCatalog() error {
	catalog := c.catalog()
	return catalog.Check()
}

// mailServer is where mail goes.
func (c *Config) mailServer() (mail.Server, error) {
	settings := mail.Settings{SMTPURL: c.MailSMTPURL, From: c.MailFrom, TLS: c.MailTLS}
	if c.MailSMTPPassword.IsSet() {
		var err error
		if settings.Password, err = value("mail_smtp_password", c.MailSMTPPassword); err != nil {
			return mail.Server{}, err
		}
	}
	return mail.NewServer(settings)
}

// secrets are the secrets of the configuration, read.
type secrets struct {
	vault     *secret.Vault
	signer    *account.Signer
	streams   *key.StreamSigner
	peppers   [][]byte
	joinToken string // empty when nodes cannot join
	mail      mail.Server
	stripe    *billing.Processor // nil when billing is not configured
}

// readSecrets reads all secrets but the database's address and reports everything that is wrong with them at once.
func (c *Config) readSecrets() (secrets, error) {
	var (
		s    secrets
		errs []error
	)
	keys := func(name string, from conf.Secret) [][]byte {
		text, err := value(name, from)
		var parsed [][]byte
		if err == nil {
			if parsed, err = secret.Parse(text); err != nil {
				err = fmt.Errorf("%s: %w", name, err)
			}
		}
		errs = append(errs, err)
		return parsed
	}
	var err error
	if kek := keys("key_encryption_key", c.KeyEncryptionKey); kek != nil {
		s.vault, err = secret.NewVault(kek)
		errs = append(errs, err)
	}
	if session := keys("session_key", c.SessionKey); session != nil {
		s.signer, err = account.NewSigner(session)
		errs = append(errs, err)
		s.streams, err = key.NewStreamSigner(session)
		errs = append(errs, err)
	}
	s.peppers = keys("key_pepper", c.KeyPepper)
	if c.JoinToken.IsSet() {
		s.joinToken, err = value("join_token", c.JoinToken)
		errs = append(errs, err)
	}
	s.mail, err = c.mailServer()
	errs = append(errs, err)
	s.stripe, err = c.processor()
	return s, errors.Join(append(errs, err)...)
}

func value(name string, from conf.Secret) (string, error) {
	if !from.IsSet() {
		return "", fmt.Errorf("%s is not set", name)
	}
	text, err := from.Value()
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return text, nil
}

// checkURLs reports addresses that nobody could use.
func (c *Config) checkURLs() error {
	var errs []error
	for name, text := range map[string]string{
		"public_url": c.PublicURL, "gateway_url": c.GatewayURL, "darwin_url": c.DarwinURL, "gateway_internal_url": c.playgroundURL(),
	} {
		u, err := url.Parse(text)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || (u.Path != "" && u.Path != "/") {
			errs = append(errs, fmt.Errorf("%s: %q is not of the form https://host or http://host:port", name, text))
		}
	}
	return errors.Join(errs...)
}

// playgroundURL is where the playground's calls go.
func (c *Config) playgroundURL() string {
	if c.GatewayInternal == "" {
		return c.GatewayURL
	}
	return c.GatewayInternal
}

// print says what is set, of secrets only where they come from.
func (c *Config) print(w io.Writer) {
	for _, line := range []struct {
		name  string
		value any
	}{
		{"listen", c.Listen},
		{"internal_listen", c.InternalListen},
		{"metrics_listen", c.MetricsListen},
		{"public_url", c.PublicURL},
		{"gateway_url", c.GatewayURL},
		{"darwin_url", c.DarwinURL},
		{"gateway_internal_url", c.playgroundURL()},
		{"database_url", c.DatabaseURL},
		{"key_encryption_key", c.KeyEncryptionKey},
		{"key_pepper", c.KeyPepper},
		{"session_key", c.SessionKey},
		{"join_token", c.JoinToken},
		{"google_client_id", c.GoogleClientID},
		{"google_issuer", c.GoogleIssuer},
		{"google_jwks_url", c.GoogleJWKSURL},
		{"mail_smtp_url", c.MailSMTPURL},
		{"mail_smtp_password", c.MailSMTPPassword},
		{"mail_from", c.MailFrom},
		{"mail_tls", c.MailTLS},
		{"stripe_secret_key", c.StripeSecretKey},
		{"stripe_webhook_secret", c.StripeWebhookSecret},
		{"stripe_publishable_key", c.StripePublishableKey},
		{"stripe_api_url", c.StripeAPIURL},
		{"metrics_admin", c.MetricsAdmin},
		{"log_level", c.LogLevel},
		{"log_format", c.LogFormat},
		{"models", len(c.Models)},
		{"upstreams", len(c.Upstreams)},
		{"pools", len(c.Pools)},
		{"skills", len(c.Skills)},
		{"images", len(c.Images)},
	} {
		fmt.Fprintf(w, "%-22s %v\n", line.name, line.value)
	}
}
