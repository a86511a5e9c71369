package snapshot

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"modelgate.internal/shared/plane"
)

// LinkOptions configure a Link.
type LinkOptions struct {
	BaseURL   string // the control plane's internal listener, "http://127.0.0.1:9090"
	JoinToken string
	Name      string // the node's name, chosen by the operator
	Build     string
	DataDir   string       // the identity is kept in node.json here
	Client    *http.Client // without a total time limit, since the config stream does not end
	Log       *slog.Logger
}

// Link is the node's way to the control plane. It joins when the node has no identity yet and joins again when the control
// plane no longer accepts it.
type Link struct {
	o    LinkOptions
	path string

	joining  sync.Mutex                       // held while a join is under way
	identity atomic.Pointer[plane.JoinAnswer] // nil before the first join
}

// NewLink returns a link with the identity found in the data directory, if any. An identity file that cannot be understood is
// an error: joining again over it would change the node's identity behind the operator's back.
func NewLink(o LinkOptions) (*Link, error) {
	o.BaseURL = strings.TrimRight(o.BaseURL, "/")
	l := &Link{o: o, path: filepath.Join(o.DataDir, "node.json")}
	data, err := os.ReadFile(l.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return l, nil
	case err != nil:
		return nil, fmt.Errorf("read node identity: %w", err)
	}
	var identity plane.JoinAnswer
	if err := json.Unmarshal(data, &identity); err != nil {
		return nil, fmt.Errorf("read node identity %s: %w", l.path, err)
	}
	if identity.NodeID == "" || identity.Secret == "" {
		return nil, fmt.Errorf("read node identity %s: node_id or secret is missing", l.path)
	}
	l.identity.Store(&identity)
	return l, nil
}

// NodeID returns the node's id, or "" before it has joined for the first time.
func (l *Link) NodeID() string {
	if identity := l.identity.Load(); identity != nil {
		return identity.NodeID
	}
	return ""
}

// Send posts body and returns the status and the answer, which may be cut at a bound. The error is one of transport or of
// joining; a status is never an error.
func (l *Link) Send(ctx context.Context, path string, header http.Header, body []byte) (int, []byte, error) {
	return l.send(ctx, path, header, body, answerBytesMax)
}

// Ask is Send for JSON whose answer may be larger: it is cut at max bytes.
func (l *Link) Ask(ctx context.Context, path string, body []byte, max int64) (int, []byte, error) {
	return l.send(ctx, path, http.Header{"Content-Type": {"application/json"}}, body, max)
}

func (l *Link) send(ctx context.Context, path string, header http.Header, body []byte, max int64) (int, []byte, error) {
	res, err := l.do(ctx, http.MethodPost, path, header, body)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, max))
	if err != nil {
		return 0, nil, fmt.Errorf("read answer of %s: %w", path, err)
	}
	return res.StatusCode, answer, nil
}

// do sends a request under the node's identity. On the first 401 it joins again and repeats the request.
func (l *Link) do(ctx context.Context, method, path string, header http.Header, body []byte) (*http.Response, error) {
	refused := ""
	for {
		secret, err := l.secret(ctx, refused)
		if err != nil {
			return nil, err
		}
		res, err := l.roundTrip(ctx, method, path, header, body, secret)
		if err != nil {
			return nil, err
		}
		if res.StatusCode != http.StatusUnauthorized || refused != "" {
			return res, nil
		}
		_ = res.Body.Close()
		refused = secret
	}
}

func (l *Link) roundTrip(ctx context.Context, method, path string, header http.Header, body []byte, secret string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, l.o.BaseURL+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("make request for %s: %w", path, err)
	}
	maps.Copy(req.Header, header)
	req.Header.Set("Authorization", "Bearer "+secret)
	res, err := l.o.Client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask control plane: %w", err)
	}
	return res, nil
}

// secret returns the node's secret, joining when there is none or it is the one that was refused.
func (l *Link) secret(ctx context.Context, refused string) (string, error) {
	if identity := l.identity.Load(); identity != nil && identity.Secret != refused {
		return identity.Secret, nil
	}
	l.joining.Lock()
	defer l.joining.Unlock()
	if identity := l.identity.Load(); identity != nil {
		if identity.Secret != refused { // somebody else has joined meanwhile
			return identity.Secret, nil
		}
		l.o.Log.Warn("control plane does not accept this node any more, joining again", slog.String("node_id", identity.NodeID))
	}
	identity, err := l.join(ctx)
	if err != nil {
		return "", fmt.Errorf("join: %w", err)
	}
	if err := l.keep(identity); err != nil {
		return "", err
	}
	l.identity.Store(&identity)
	l.o.Log.Info("joined the control plane", slog.String("node_id", identity.NodeID))
	return identity.Secret, nil
}

func (l *Link) join(ctx context.Context) (plane.JoinAnswer, error) {
	ctx, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	var answer plane.JoinAnswer
	body, err := json.Marshal(plane.JoinRequest{Name: l.o.Name, Build: l.o.Build})
	if err != nil {
		return answer, err
	}
	header := http.Header{"Content-Type": {"application/json"}}
	res, err := l.roundTrip(ctx, http.MethodPost, plane.JoinPath, header, body, l.o.JoinToken)
	if err != nil {
		return answer, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, answerBytesMax))
	if err != nil {
		return answer, err
	}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return answer, fmt.Errorf("control plane answers %d: %.300s", res.StatusCode, text)
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return answer, fmt.Errorf("decode answer: %w", err)
	}
	if answer.NodeID == "" || answer.Secret == "" {
		return answer, errors.New("answer has no node_id or secret")
	}
	return answer, nil
}

// keep writes the identity so that it is there whole or not at all.
func (l *Link) keep(identity plane.JoinAnswer) error {
	data, err := json.Marshal(identity)
	if err != nil {
		return fmt.Errorf("keep node identity: %w", err)
	}
	next := l.path + ".next"
	f, err := os.OpenFile(next, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("keep node identity: %w", err)
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(next, l.path)
	}
	if err != nil {
		return fmt.Errorf("keep node identity: %w", err)
	}
	return syncDir(filepath.Dir(l.path))
}

// syncDir makes a rename durable.
func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("sync %s: %w", path, err)
	}
	if err := errors.Join(dir.Sync(), dir.Close()); err != nil {
		return fmt.Errorf("sync %s: %w", path, err)
	}
	return nil
}
