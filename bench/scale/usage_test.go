package scale

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"modelgate.internal/bench/stack"
	"modelgate.internal/bench/stack/stacktest"
)

// The shape of usage that is seeded. A row of usage_hour is what was used in an hour of a key with a model, a task and a status.
const (
	usageDays    = 31
	usageKeys    = 10 // of an app
	usageAlike   = 80 // rows an app has for an hour: keys, two models, two tasks, two statuses
	usageRows    = usageDays * 24 * usageAlike
	accountApps  = 2 // of the account that looks
	chartRounds  = 40
	chartWithin  = 150 * time.Millisecond // p95
	hourBins     = 8                      // of a sketch of an hour
	dayBins      = 24
	bytesOfABin  = 2
	firstBin     = 100
	callsOfARow  = 7
	tokensOfARow = 500
)

// TestUsageCharts measures the charts of an app and of an account beside the usage of all others.
func TestUsageCharts(t *testing.T) {
	rows, err := strconv.Atoi(os.Getenv("SCALE_USAGE_ROWS"))
	if err != nil || rows < accountApps*usageRows {
		t.Skip("set SCALE_USAGE_ROWS to the number of hourly rows, at least the account's own, as `make scale-usage` does")
	}
	o := stacktest.Options(t)
	s := stacktest.Run(t, o)
	session, account, apps := looker(t, s.Info())
	db := database(t, s.Info())
	seedUsage(t, db, account, apps, rows)
	charts(t, s, session, apps[0])
	usagePlans(t, db, apps[0], rows)
}

// looker makes the account that looks at its usage, with its apps.
func looker(t *testing.T, in stack.Info) (session, account string, apps []string) {
	t.Helper()
	var made struct {
		Token     string `json:"access_token"`
		Developer struct {
			ID string `json:"id"`
		} `json:"developer"`
		AppID string `json:"app_id"`
	}
	post := func(path, body string) {
		text, _ := call(t, "POST", in.PortalURL+path, made.Token, body)
		if err := json.Unmarshal(text, &made); err != nil {
			t.Fatal(err)
		}
	}
	post("/dev/auth/register", `{"name":"Looker","email":"looker@example.com","password":"a long enough password"}`)
	for i := range accountApps {
		post("/dev/apps", fmt.Sprintf(`{"name":"Charted %d"}`, i))
		apps = append(apps, made.AppID)
	}
	return made.Token, made.Developer.ID, apps
}

// seedUsage stores usage of the apps and of as many others, each of an account of its own, as make the hourly rows. Hour by hour
// and day by day, as they come about, so that an app's rows lie far from each other.
func seedUsage(t *testing.T, db *pgx.Conn, account string, apps []string, rows int) {
	t.Helper()
	const alike = `md5('k' || a.id || x.n % 10)::UUID, a.account, 'Model ' || x.n / 10 % 2, 'task ' || x.n / 20 % 2, 200 + 229 * (x.n / 40 % 2), 'provider', 'done'`
	bins := func(n int) []byte {
		b := make([]byte, 0, n*bytesOfABin)
		for i := range n {
			b = append(b, byte(firstBin+i), 1)
		}
		return b
	}
	steps := []string{
		`CREATE TABLE seed_apps AS SELECT md5('a' || i)::UUID AS id, md5('d' || i)::UUID AS account FROM generate_series(1, $1::INT8) AS i
			UNION ALL SELECT u, $2::UUID FROM unnest($3::UUID[]) AS u`,
		`INSERT INTO usage_hour (app_id, bucket, key_id, account_id, model, task, status, source, end_reason, calls, errors, tokens_in, tokens_out, ttft, took)
			SELECT a.id, h.at, ` + alike + `, $2, 0, $3, $3, $1, $1
			FROM generate_series(date_trunc('day', now()) - INTERVAL '30 days', now(), '1 hour') AS h (at), seed_apps AS a, generate_series(0, 79) AS x (n)`,
		`INSERT INTO usage_day (app_id, bucket, key_id, account_id, model, task, status, source, end_reason, calls, errors, tokens_in, tokens_out, ttft, took)
			SELECT a.id, d.at, ` + alike + `, $2 * h.n, 0, $3 * h.n, $3 * h.n, $1, $1
			FROM generate_series(date_trunc('day', now()) - INTERVAL '30 days', now(), '1 day') AS d (at), seed_apps AS a, generate_series(0, 79) AS x (n),
				LATERAL (SELECT LEAST(24, floor(extract(EPOCH FROM now() - d.at) / 3600)::INT8 + 1) AS n) AS h`,
		`INSERT INTO usage_app_hour (app_id, bucket, account_id, calls, errors, tokens_in, tokens_out, ttft, took)
			SELECT a.id, h.at, a.account, $2 * 80, 0, $3 * 80, $3 * 80, $1, $1
			FROM generate_series(date_trunc('day', now()) - INTERVAL '30 days', now(), '1 hour') AS h (at), seed_apps AS a`,
		`INSERT INTO usage_edge_day (app_id, bucket, key_id, account_id, node_id, calls, tokens_in, tokens_out)
			SELECT d.app_id, d.bucket, d.key_id, d.account_id, d.key_id, sum(d.calls)::INT8, sum(d.tokens_in)::INT8, sum(d.tokens_out)::INT8
			FROM usage_day AS d GROUP BY d.app_id, d.bucket, d.key_id, d.account_id`,
		vacuum,
	}
	args := [][]any{
		{rows/usageRows - len(apps), account, apps},
		{bins(hourBins), callsOfARow, tokensOfARow},
		{bins(dayBins), callsOfARow, tokensOfARow},
		{bins(dayBins), callsOfARow, tokensOfARow},
		nil,
		nil,
	}
	if _, err := db.Exec(t.Context(), `SET synchronous_commit = off; SET maintenance_work_mem = '256MB'`); err != nil {
		t.Fatal(err)
	}
	for i, step := range steps {
		begun := time.Now()
		tag, err := db.Exec(t.Context(), step, args[i]...)
		if err != nil {
			t.Fatalf("seed, step %d: %v", i+1, err)
		}
		t.Logf("seed, step %d: %d rows in %s", i+1, tag.RowsAffected(), time.Since(begun).Round(time.Millisecond))
	}
}

// charts looks at every kind of chart of a month, and says what one costs the control plane and the database.
func charts(t *testing.T, s *stack.Stack, session, app string) {
	t.Helper()
	for _, query := range []string{"", "&bucket=hour", "&tz=America/New_York"} {
		for _, path := range []string{"/dev/apps/" + app + "/usage?days=30", "/dev/usage?days=30"} {
			name := strings.ReplaceAll(path, app, "{app}") + query
			var took []time.Duration
			controlplane, database := cpu(t, s.Pid("controlplane")), children(t, s.Pid("database"))
			for range chartRounds {
				text, d := call(t, "GET", s.Info().PortalURL+path+query, session, "")
				took = append(took, d)
				checkChart(t, name, text)
			}
			controlplane, database = cpu(t, s.Pid("controlplane"))-controlplane, children(t, s.Pid("database"))-database
			slices.Sort(took)
			p50, p95 := took[len(took)/2], took[len(took)*95/100]
			t.Logf("%-51s p50 %s, p95 %s, longest %s of %d; CPU of one: control plane %s, database %s",
				name, p50, p95, took[len(took)-1], len(took), controlplane/chartRounds, database/chartRounds)
			if p95 > chartWithin {
				t.Errorf("%s: p95 %s, promised are %s", name, p95, chartWithin)
			}
		}
	}
}

// checkChart holds the parts of an answer against its totals.
func checkChart(t *testing.T, name string, text []byte) {
	t.Helper()
	type counters struct {
		Calls  int64 `json:"calls"`
		Tokens int64 `json:"tokens_in"`
	}
	var chart struct {
		Totals counters   `json:"totals"`
		Series []counters `json:"series"`
		Keys   []counters `json:"by_key"`
		Drift  int64      `json:"drift"`
	}
	if err := json.Unmarshal(text, &chart); err != nil {
		t.Fatal(err)
	}
	for _, list := range [][]counters{chart.Series, chart.Keys} {
		var sum counters
		for _, c := range list {
			sum.Calls += c.Calls
			sum.Tokens += c.Tokens
		}
		if sum != chart.Totals || sum.Calls < 29*24*usageAlike*callsOfARow || chart.Drift != 0 || len(chart.Keys) < usageKeys {
			t.Fatalf("%s: a list adds up to %+v, the totals are %+v, drift %d", name, sum, chart.Totals, chart.Drift)
		}
	}
}

// usagePlans shows how the database finds the parts of a chart.
func usagePlans(t *testing.T, db *pgx.Conn, app string, rows int) {
	t.Helper()
	for _, statement := range []string{
		`SELECT key_id, calls, ttft, took FROM usage_day WHERE app_id = '{app}' AND bucket >= now() - INTERVAL '30 days' AND bucket < now()`,
		`SELECT key_id, calls, ttft, took FROM usage_hour WHERE app_id = '{app}' AND bucket >= now() - INTERVAL '20 hours' AND bucket < now()`,
		`SELECT bucket, calls, ttft, took FROM usage_app_hour WHERE app_id = '{app}' AND bucket >= now() - INTERVAL '30 days' AND bucket < now()`,
	} {
		found, err := db.Query(t.Context(), `EXPLAIN (ANALYZE, BUFFERS, COSTS OFF) `+strings.ReplaceAll(statement, "{app}", app))
		if err != nil {
			t.Fatal(err)
		}
		lines, err := pgx.CollectRows(found, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		plan := strings.Join(lines, "\n")
		t.Logf("%s\n%s", statement, plan)
		if rows >= 10*accountApps*usageRows && strings.Contains(plan, "Seq Scan") {
			t.Error("a table is read as a whole")
		}
	}
}
