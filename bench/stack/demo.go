package stack

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"modelgate.internal/shared/wire"
)

// demo finds the demo account of an earlier run, or makes one through the public interface, and waits until every node
// knows its key.
func (s *Stack) demo(ctx context.Context) (Demo, error) {
	ctx, cancel := context.WithTimeout(ctx, demoWait)
	defer cancel()
	d, token, err := s.demoAccount(ctx)
	if err != nil {
		return Demo{}, fmt.Errorf("set up the demo account: %w", err)
	}
	if err := s.demoKey(ctx, token, &d); err != nil {
		return Demo{}, fmt.Errorf("set up the demo app: %w", err)
	}
	if err := writeJSON(s.at.secret("demo.json"), d); err != nil {
		return Demo{}, err
	}
	for n := range s.o.Nodes {
		if err := s.awaitKey(ctx, n, d.Key); err != nil {
			return Demo{}, err
		}
	}
	return d, nil
}

// demoAccount logs the remembered account in, or registers one. The database may have been emptied since it was remembered,
// and may hold one that nobody remembers.
func (s *Stack) demoAccount(ctx context.Context) (Demo, string, error) {
	var d Demo
	var session wire.Session
	if text, err := os.ReadFile(s.at.secret("demo.json")); err == nil && json.Unmarshal(text, &d) == nil && d.Email != "" {
		err := s.portal(ctx, "POST", "/dev/auth/login", "", wire.LoginRequest{Email: d.Email, Password: d.Password}, &session)
		var refused *refusal
		if err == nil || !errors.As(err, &refused) || refused.status != http.StatusUnauthorized {
			return d, session.AccessToken, err
		}
	}
	s.out.say("creating the demo account")
	d = Demo{Email: "demo@modelgate.local", Password: rand.Text()}
	err := s.register(ctx, d, &session)
	var refused *refusal
	if errors.As(err, &refused) && refused.status != http.StatusTooManyRequests {
		taken := err
		d.Email = "demo-" + strings.ToLower(rand.Text()[:8]) + "@modelgate.local"
		if err = s.register(ctx, d, &session); err != nil {
			return d, "", taken
		}
	}
	return d, session.AccessToken, err
}

func (s *Stack) register(ctx context.Context, d Demo, session *wire.Session) error {
	return s.portal(ctx, "POST", "/dev/auth/register", "", wire.RegisterRequest{Name: "Demo", Email: d.Email, Password: d.Password}, session)
}

// demoKey makes sure that the account has an app with a test key that works.
func (s *Stack) demoKey(ctx context.Context, token string, d *Demo) error {
	var app wire.AppDetail
	if d.AppID != "" {
		err := s.portal(ctx, "GET", "/dev/apps/"+d.AppID, token, nil, &app)
		var refused *refusal
		if err != nil && !errors.As(err, &refused) {
			return err
		}
		works := func(k wire.Key) bool { return k.KeyID == d.KeyID && k.Status == "active" }
		if err == nil && app.Active && slices.ContainsFunc(app.Keys, works) {
			return nil
		}
		if err != nil || !app.Active {
			d.AppID = ""
		}
	}
	if d.AppID == "" {
		var created wire.App
		err := s.portal(ctx, "POST", "/dev/apps", token, wire.CreateAppRequest{
			Name: "Demo", Environment: "test", Families: []string{}, Tasks: []string{}, RateLimit: 100, // no scope: everything can be tried
		}, &created)
		if err != nil {
			return err
		}
		d.AppID = created.AppID
	}
	var key wire.NewKey
	if err := s.portal(ctx, "POST", "/dev/apps/"+d.AppID+"/keys", token, nil, &key); err != nil {
		return err
	}
	d.KeyID, d.Key = key.KeyID, key.Key
	return nil
}

// awaitKey waits until a node knows a key.
func (s *Stack) awaitKey(ctx context.Context, n int, key string) error {
	for {
		status, body, err := call(ctx, "GET", "http://"+s.address(nodePort(n, portGateway))+"/api/v1/models", key, nil)
		if err == nil && status == http.StatusOK {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s does not accept the demo key: status %d, %s; %w", nodeName(n), status, body, errors.Join(err, ctx.Err()))
		case <-time.After(readyPoll):
		}
	}
}

// refusal is an answer of the portal's interface other than success.
type refusal struct {
	what   string
	status int
	body   string
}

func (r *refusal) Error() string { return fmt.Sprintf("%s: status %d, %s", r.what, r.status, r.body) }

// portal calls the portal's interface; token and body may be missing.
func (s *Stack) portal(ctx context.Context, method, path, token string, body, answer any) error {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	status, got, err := call(ctx, method, "http://"+s.address(portControl)+path, token, text)
	if err != nil {
		return err
	}
	if status/100 != 2 {
		return &refusal{method + " " + path, status, got}
	}
	if err := json.Unmarshal([]byte(got), answer); err != nil {
		return fmt.Errorf("read the answer to %s %s: %w", method, path, err)
	}
	return nil
}

func get(ctx context.Context, url string) (status int, body string, err error) {
	return call(ctx, "GET", url, "", nil)
}

// call makes one HTTP call, on a connection of its own.
func call(ctx context.Context, method, url, bearer string, body []byte) (int, string, error) {
	ctx, cancel := context.WithTimeout(ctx, callWait)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	req.Close = true
	if len(body) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	if bearer != "" {
		req.Header.Set("Authorization", "Bearer "+bearer)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(res.Body, answerMax))
	return res.StatusCode, strings.TrimSpace(string(text)), err
}
