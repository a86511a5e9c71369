package app

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"modelgate.internal/controlplane/internal/org"
	"modelgate.internal/controlplane/internal/plan"
	"modelgate.internal/controlplane/internal/secret"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/id"
	"modelgate.internal/shared/key"
	"modelgate.internal/shared/plane"
)

// App is an application.
type App struct {
	ID          string
	DeveloperID string
	Name        string
	Description string
	Environment string // "test" or "live": the kind of the keys made from now on
	Families    []string
	Tasks       []string
	RateLimit   int64 // calls per minute over all keys
	Active      bool
	ExpiresAt   *time.Time
	CreatedAt   time.Time
	UpdatedAt   time.Time
	OrgID       *string // the organization that owns it; without one, the developer does
	Role        string  // of whoever asks, in that organization
}

// Allow returns nil if whoever asked for the app has a right to it, else a 403.
func (a App) Allow(right org.Right) error {
	if a.OrgID == nil {
		return nil
	}
	return org.Allow(a.Role, right)
}

// Update changes an app. What is nil stays as it is. A new environment is for keys made from then on; those that exist
// keep theirs, because it is part of their value.
type Update struct {
	Name        *string
	Description *string
	Environment *string
	Families    *[]string
	Tasks       *[]string
	RateLimit   *int64
	Active      *bool
}

// Store is what this package asks of storage. developerID is who asks. Things of another developer or organization, and ids
// that are none, are ErrNoApp, ErrNoKey or ErrNoToken; a role that does not allow it is a 403. Methods that return a
// version announce what the nodes must know in the same transaction.
type Store interface {
	// CreateApp returns a 403 when the owner's plan allows no more apps, also when two are created at once, and org.ErrOtherOrg
	// for an organization that the developer is not in.
	CreateApp(ctx context.Context, a App) error
	Apps(ctx context.Context, developerID string) ([]App, error)
	App(ctx context.Context, developerID, appID string) (App, error)
	UpdateApp(ctx context.Context, developerID, appID string, u Update, now time.Time) (App, plane.Version, error)
	DeleteApp(ctx context.Context, developerID, appID string) (plane.Version, error)

	// CreateKey makes an API key of an app, or a Darwin token when k has no app. A 403 says that there are too many. What
	// was made under the same [Once] before is returned as it was made.
	CreateKey(ctx context.Context, k Key, s Secret, once *Once) (Made, error)
	Keys(ctx context.Context, developerID, appID string) ([]Key, error)
	Key(ctx context.Context, developerID, appID, keyID string) (Key, error)
	// RegenerateKey replaces the value of a key; earlier ones get grace, counted from the making of s. A key that is revoked
	// is ErrKeyRevoked. What was made under the same [Once] before is returned as it was made.
	RegenerateKey(ctx context.Context, developerID string, k Key, s Secret, grace time.Duration, once *Once) (Made, error)
	// RevokeKey ends a key, or a Darwin token when appID is empty. A revoked one is returned as it is.
	RevokeKey(ctx context.Context, developerID, appID, keyID string, now time.Time) (Key, error)
	// ReadSecret returns the value of a key and records that it was read. A key that is revoked is ErrKeyRevoked.
	ReadSecret(ctx context.Context, developerID, appID, keyID, readID string, now time.Time) (Key, Secret, error)
	Tokens(ctx context.Context, developerID string) ([]Key, error)
	// OldestKey returns the oldest key that works at now and its newest value: of the app, the key, or both; with neither, of
	// the developer's own apps. Without any it is ErrNoActiveKey.
	OldestKey(ctx context.Context, developerID string, appID, keyID *string, now time.Time) (KeyValue, error)
	// KeyToUse returns the oldest key that works at now and its current value: of the app, the key, or both; with neither,
	// the oldest test key. Without any it is ErrNoKeyToUse.
	KeyToUse(ctx context.Context, developerID string, appID, keyID *string, now time.Time) (Key, Secret, error)
	// SessionTerms returns what the developer's account may do, and the config version at which that was read.
	SessionTerms(ctx context.Context, developerID string) (plan.Terms, plane.Version, error)
}

// What can be wrong with an app or a key.
var (
	ErrNoApp       = apierr.New(apierr.NotFound, "There is no such app.")
	ErrNoKey       = apierr.New(apierr.NotFound, "There is no such key in this app.")
	ErrNoToken     = apierr.New(apierr.NotFound, "There is no such Darwin token.")
	ErrNoActiveKey = apierr.New(apierr.NotFound,
		"You have no active API key. Create one in an app first: the token stands for it.")
	ErrNoChosenKey = apierr.New(apierr.NotFound,
		"No active API key of yours is the chosen one. Name an active key of an active app in app_id and key_id, or leave both out for your oldest key.")
	ErrKeyRevoked = apierr.New(apierr.Conflict, "The key is revoked. Create a new one.")
	ErrNoKeyToUse = apierr.New(apierr.Conflict, "There is no key to make the call with. Create an app with the environment test and a key in it, "+
		"or choose an app or a key: the key must not be revoked, and its app must be active and not expired.")
	ErrManyValues = apierr.New(apierr.Conflict, fmt.Sprintf(
		"The key has %d values that still work, the most there can be. Wait for one to end, or regenerate without grace, which ends them all.", ValuesPerKeyMax))
)

// Apps is the work with apps, keys and tokens.
type Apps struct {
	Store  Store
	Vault  *secret.Vault
	Pepper []byte // tags new keys
	// Streams signs the tokens of sessions that call without a key.
	Streams *key.StreamSigner
	Now     func() time.Time
}

// Create makes an app of a.DeveloperID, or of a.OrgID, from the other fields the caller set. Errors: 403 over the plan's
// number of apps, org.ErrOtherOrg, 422.
func (s *Apps) Create(ctx context.Context, a App) (App, error) {
	now := s.now()
	a.ID, a.Active, a.CreatedAt, a.UpdatedAt = uuid.NewString(), true, now, now
	a.ExpiresAt = stored(a.ExpiresAt)
	items := checkName(&a.Name)
	items = append(items, checkTasks("tasks", a.Tasks)...)
	items = append(items, checkFuture(a.ExpiresAt, now)...)
	if len(items) > 0 {
		return App{}, apierr.Violations(items...)
	}
	if a.OrgID != nil && !id.Valid(*a.OrgID) {
		return App{}, org.ErrOtherOrg
	}
	if err := s.Store.CreateApp(ctx, a); err != nil {
		return App{}, fmt.Errorf("create an app: %w", err)
	}
	return a, nil
}

// List returns the apps of a developer and, as far as the role allows, of the developer's organization, newest first.
func (s *Apps) List(ctx context.Context, developerID string) ([]App, error) {
	return s.Store.Apps(ctx, developerID)
}

// Get returns an app of a developer. Errors: ErrNoApp.
func (s *Apps) Get(ctx context.Context, developerID, appID string) (App, error) {
	if !id.Valid(appID) {
		return App{}, ErrNoApp
	}
	return s.Store.App(ctx, developerID, appID)
}

// Update changes an app and tells the nodes what that means for its keys, with the version it returns. Errors: ErrNoApp,
// 422.
func (s *Apps) Update(ctx context.Context, developerID, appID string, u Update) (App, plane.Version, error) {
	if !id.Valid(appID) {
		return App{}, 0, ErrNoApp
	}
	var items []apierr.Item
	if u.Name != nil {
		name := *u.Name
		items = checkName(&name)
		u.Name = &name
	}
	if u.Tasks != nil {
		items = append(items, checkTasks("tasks", *u.Tasks)...)
	}
	if len(items) > 0 {
		return App{}, 0, apierr.Violations(items...)
	}
	return s.Store.UpdateApp(ctx, developerID, appID, u, s.now())
}

// Delete removes an app with its keys, which stop working. Errors: ErrNoApp.
func (s *Apps) Delete(ctx context.Context, developerID, appID string) (plane.Version, error) {
	if !id.Valid(appID) {
		return 0, ErrNoApp
	}
	return s.Store.DeleteApp(ctx, developerID, appID)
}

// Apply returns a changed as u says.
func (u Update) Apply(a App, now time.Time) App {
	set(&a.Name, u.Name)
	set(&a.Description, u.Description)
	set(&a.Environment, u.Environment)
	set(&a.Families, u.Families)
	set(&a.Tasks, u.Tasks)
	set(&a.RateLimit, u.RateLimit)
	set(&a.Active, u.Active)
	a.UpdatedAt = now
	return a
}

func set[T any](dst, src *T) {
	if src != nil {
		*dst = *src
	}
}

// checkName trims a name and refuses it if nothing is left.
func checkName(name *string) []apierr.Item {
	given := *name
	if *name = strings.TrimSpace(given); *name != "" {
		return nil
	}
	return []apierr.Item{{
		Type: "string_too_short", Loc: []any{"body", "name"}, Msg: "String should have at least 1 character",
		Input: given, Ctx: map[string]any{"min_length": 1},
	}}
}

// checkTasks bounds the names in a list; which tasks exist is the catalog's matter.
func checkTasks(field string, tasks []string) []apierr.Item {
	var items []apierr.Item
	for i, task := range tasks {
		n := utf8.RuneCountInString(task)
		item := apierr.Item{Loc: []any{"body", field, i}, Input: task}
		switch {
		case n == 0:
			item.Type, item.Msg = "string_too_short", "String should have at least 1 character"
			item.Ctx = map[string]any{"min_length": 1}
		case n > TaskRunesMax:
			item.Type, item.Msg = "string_too_long", fmt.Sprintf("String should have at most %d characters", TaskRunesMax)
			item.Input, item.Ctx = string([]rune(task)[:TaskRunesMax])+"…", map[string]any{"max_length": TaskRunesMax}
		default:
			continue
		}
		items = append(items, item)
	}
	return items
}

func checkFuture(at *time.Time, now time.Time) []apierr.Item {
	if at == nil || at.After(now) {
		return nil
	}
	return []apierr.Item{{
		Type: "datetime_future", Loc: []any{"body", "expires_at"}, Msg: "Input should be in the future",
		Input: at.Format(time.RFC3339),
	}}
}

// stored is a time as the database keeps it.
func stored(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	u := t.UTC().Truncate(time.Microsecond)
	return &u
}

func (s *Apps) now() time.Time { return s.Now().UTC().Truncate(time.Microsecond) }

// KindOf is the kind of the keys of an environment.
func KindOf(environment string) key.Kind {
	if environment == string(key.Live) {
		return key.Live
	}
	return key.Test
}

// scopeOf is what the scopes of a Darwin token allow: "agent" or no scope allows all that the token's host serves; names
// of families restrict the families, anything else the tasks.
func scopeOf(scopes []string) plane.Scope {
	var s plane.Scope
	if slices.Contains(scopes, "agent") {
		return s
	}
	for _, name := range scopes {
		switch name {
		case "biometrix", "darwin", "emoticore":
			s.Families = append(s.Families, name)
		default:
			s.Tasks = append(s.Tasks, name)
		}
	}
	return s
}
