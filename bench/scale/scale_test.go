package scale

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/jackc/pgx/v5"

	"modelgate.internal/bench/stack"
	"modelgate.internal/bench/stack/stacktest"
)

// The shape of what is seeded, and what is promised.
const (
	appsPerAccount = 10
	keysPerApp     = 10
	visitors       = 20 // accounts that look at their things
	roundsOfVisits = 10
	searches       = 20      // fewer than one network may make in a minute
	nodes          = 2       // one of which forgets everything
	indexedFrom    = 500_000 // keys; with fewer the database may well read a table as a whole

	listWithin = 150 * time.Millisecond // p95 of a list
	joinWithin = 20 * time.Second       // of a node, with 1,000,000 keys
	cores      = 2                      // of the machine that all promises are for

	joinPatience = 5 * time.Minute        // with a node that takes longer
	revocations  = 200                    // keys that are made and revoked
	revokeWithin = 250 * time.Millisecond // p99 from the request to the 401 of every node
)

// seeds are the statements that fill the database with $1 accounts. Ids are hashes of numbers, so that they lie as random
// ones do. The published records have the body of the first key's, with the id of their own.
func seeds() []string {
	return []string{
		`INSERT INTO developers (id, name, email, password_hash, plan, created_at)
			SELECT md5('d' || i)::UUID, 'Seed ' || i, 'seed-' || i || '@example.com', '', 'pro', now() FROM generate_series(1, $1::INT8) AS i`,
		fmt.Sprintf(`INSERT INTO apps (id, developer_id, name, description, environment, families, tasks, rate_limit, active, created_at, updated_at)
			SELECT md5('a' || d.id || i)::UUID, d.id, 'App ' || i, '', 'live', '{}', '{}', 100, TRUE, now(), now()
			FROM developers AS d, generate_series(1, %d) AS i WHERE $1::INT8 > 0`, appsPerAccount),
		fmt.Sprintf(`INSERT INTO api_keys (id, developer_id, app_id, kind, hint, name, scopes, metadata, created_at)
			SELECT md5('k' || a.id || i)::UUID, a.developer_id, a.id, 'live', 'svc_live_…seed', '', '{}', '{}', now()
			FROM apps AS a, generate_series(1, %d) AS i WHERE a.name LIKE 'App %%' AND $1::INT8 > 0`, keysPerApp),
		`INSERT INTO api_key_secrets (hash, key_id, version, state, kek_id, sealed_key, nonce, ciphertext, created_at)
			SELECT sha256(id::TEXT::BYTEA), id, 1, 'active', 'seed', sha256('a'), '\x00', sha256('b'), now()
			FROM api_keys WHERE hint = 'svc_live_…seed' AND $1::INT8 > 0`,
		`ALTER TABLE config_records DROP CONSTRAINT config_records_pk`, // made anew at once below, which is cheaper than row by row
		`INSERT INTO config_records (kind, id, body, rev)
			SELECT 'key', encode(sha256(k.id::TEXT::BYTEA), 'hex'), r.body || jsonb_build_object('key_id', k.id), r.rev
			FROM api_keys AS k, (SELECT body, rev FROM config_records WHERE kind = 'key' ORDER BY rev DESC LIMIT 1) AS r
			WHERE k.hint = 'svc_live_…seed' AND $1::INT8 > 0`,
		`ALTER TABLE config_records ADD CONSTRAINT config_records_pk PRIMARY KEY (kind, id)`,
	}
}

// vacuum leaves the tables as the database's own upkeep does some time after so many rows were added.
const vacuum = `VACUUM (ANALYZE)`

func TestScale(t *testing.T) {
	keys, err := strconv.Atoi(os.Getenv("SCALE_KEYS"))
	if err != nil || keys < appsPerAccount*keysPerApp {
		t.Skip("set SCALE_KEYS to the number of keys, as `make scale` does")
	}
	o := stacktest.Options(t)
	o.Nodes = nodes
	s := stacktest.Run(t, o)
	sessions := make([]string, visitors)
	for i := range sessions {
		sessions[i] = register(t, s.Info(), i)
	}
	db := database(t, s.Info())
	// The seeds are consistent; checking every foreign key of them would take most of the time.
	if _, err := db.Exec(t.Context(), `SET session_replication_role = replica; SET synchronous_commit = off; SET maintenance_work_mem = '256MB'`); err != nil {
		t.Fatal(err)
	}
	for i, statement := range append(seeds(), vacuum) {
		begun, args := time.Now(), []any{keys / (appsPerAccount * keysPerApp)}
		if !strings.Contains(statement, "$1") {
			args = nil
		}
		tag, err := db.Exec(t.Context(), statement, args...)
		if err != nil {
			t.Fatalf("seed, step %d: %v", i+1, err)
		}
		t.Logf("seed, step %d: %d rows in %s", i+1, tag.RowsAffected(), time.Since(begun).Round(time.Millisecond))
	}
	lists(t, s.Info(), sessions)
	search(t, s.Info(), db, sessions[0])
	plans(t, db, keys)
	joins(t, s, o, keys)
	revokes(t, s.Info(), sessions[0])
}

// register makes an account with a key of its own, which the seeds add to.
func register(t *testing.T, in stack.Info, i int) (session string) {
	t.Helper()
	var made struct {
		Token string `json:"access_token"`
		AppID string `json:"app_id"`
	}
	for _, step := range []struct{ path, body string }{
		{"/dev/auth/register", fmt.Sprintf(`{"name":"Visitor","email":"visitor-%d@example.com","password":"a long enough password"}`, i)},
		{"/dev/apps", `{"name":"Mine"}`},
		{"/dev/apps/{app}/keys", ``},
	} {
		body, _ := call(t, "POST", in.PortalURL+strings.ReplaceAll(step.path, "{app}", made.AppID), made.Token, step.body)
		if err := json.Unmarshal(body, &made); err != nil {
			t.Fatal(err)
		}
	}
	return made.Token
}

// call makes a request that has to be answered with 200, and says how long that took.
func call(t *testing.T, method, address, session, body string) ([]byte, time.Duration) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+session)
	begun := time.Now()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	took := time.Since(begun)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %d %s %v", method, address, res.StatusCode, text, err)
	}
	return text, took
}

func database(t *testing.T, in stack.Info) *pgx.Conn {
	t.Helper()
	text, err := os.ReadFile(in.ControlplaneConfig)
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		DatabaseURL string `yaml:"database_url"`
	}
	if err := yaml.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	db, err := pgx.Connect(t.Context(), config.DatabaseURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close(context.WithoutCancel(t.Context())) })
	return db
}

// lists visits the portal's lists as every visitor.
func lists(t *testing.T, in stack.Info, sessions []string) {
	t.Helper()
	took := make(map[string][]time.Duration)
	for range roundsOfVisits {
		for _, session := range sessions {
			text, d := call(t, "GET", in.PortalURL+"/dev/apps", session, "")
			took["apps"] = append(took["apps"], d)
			var list struct {
				Apps []struct {
					ID string `json:"app_id"`
				} `json:"apps"`
			}
			if err := json.Unmarshal(text, &list); err != nil || len(list.Apps) != appsPerAccount+1 {
				t.Fatalf("%d apps: %v", len(list.Apps), err)
			}
			for _, app := range list.Apps[:3] {
				_, d = call(t, "GET", in.PortalURL+"/dev/apps/"+app.ID, session, "")
				took["app with its keys"] = append(took["app with its keys"], d)
			}
			_, d = call(t, "GET", in.PortalURL+"/dev/darwin-tokens", session, "")
			took["Darwin tokens"] = append(took["Darwin tokens"], d)
			_, d = call(t, "GET", in.PortalURL+"/dev/limits", session, "")
			took["limits"] = append(took["limits"], d)
		}
	}
	for name, all := range took {
		holdToList(t, name, all)
	}
}

func holdToList(t *testing.T, name string, all []time.Duration) {
	t.Helper()
	slices.Sort(all)
	p50, p95 := all[len(all)/2], all[len(all)*95/100]
	t.Logf("%-18s p50 %s, p95 %s, longest %s of %d", name, p50, p95, all[len(all)-1], len(all))
	if p95 > listWithin {
		t.Errorf("%s: p95 %s, promised are %s", name, p95, listWithin)
	}
}

// search looks for developers among all accounts as the owner of an organization: every other time for one that exists, otherwise
// for one that does not, so that all accounts have to be looked at.
func search(t *testing.T, in stack.Info, db *pgx.Conn, session string) {
	t.Helper()
	if _, err := db.Exec(t.Context(), `UPDATE developers SET plan = 'enterprise' WHERE email = 'visitor-0@example.com'`); err != nil {
		t.Fatal(err)
	}
	call(t, "POST", in.PortalURL+"/dev/org", session, `{"name":"Searching"}`)
	var took []time.Duration
	for i := range searches {
		part, want := "seed-1@", 1
		if i%2 == 1 {
			part, want = "nobody-has-this", 0
		}
		text, d := call(t, "GET", in.PortalURL+"/dev/org/search-developer?email="+part, session, "")
		took = append(took, d)
		var found struct {
			Developers []json.RawMessage `json:"developers"`
		}
		if err := json.Unmarshal(text, &found); err != nil || len(found.Developers) != want {
			t.Fatalf("a search for %s answers %s", part, text)
		}
	}
	holdToList(t, "search", took)
}

// plans shows how the database finds the keys of an app and of an account.
func plans(t *testing.T, db *pgx.Conn, keys int) {
	t.Helper()
	var account, app string
	err := db.QueryRow(t.Context(), `SELECT developer_id, id FROM apps WHERE name = 'App 7' LIMIT 1`).Scan(&account, &app)
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		`SELECT id, name FROM apps WHERE developer_id = '{account}' ORDER BY created_at DESC, id LIMIT 10000`,
		`SELECT id, hint FROM api_keys WHERE app_id = '{app}' AND developer_id = '{account}' ORDER BY created_at DESC, id LIMIT 1000`,
		`SELECT id, hint FROM api_keys WHERE developer_id = '{account}' AND app_id IS NULL ORDER BY created_at DESC, id LIMIT 1000`,
		`SELECT s.hash FROM api_key_secrets AS s JOIN api_keys AS k ON k.id = s.key_id
			WHERE k.developer_id = '{account}' AND s.state = 'active' ORDER BY s.key_id, s.version`,
		`SELECT rev, kind, id, line FROM config_records WHERE (kind, id) > ('key', '8') ORDER BY kind, id LIMIT 1000`,
	} {
		statement = strings.NewReplacer("{account}", account, "{app}", app).Replace(statement)
		rows, err := db.Query(t.Context(), `EXPLAIN (ANALYZE, BUFFERS, COSTS OFF) `+statement)
		if err != nil {
			t.Fatal(err)
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		plan := strings.Join(lines, "\n")
		t.Logf("%s\n%s", statement, plan)
		if keys >= indexedFrom && strings.Contains(plan, "Seq Scan") {
			t.Error("a table is read as a whole")
		}
	}
}
