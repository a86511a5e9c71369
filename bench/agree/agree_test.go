package agree

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/jackc/pgx/v5"

	"modelgate.internal/bench/stack"
	"modelgate.internal/bench/stack/stacktest"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/wire"
)

// shownWithin is wide, because the machine is shared: promised are 2 s, and what was measured is logged.
const shownWithin = 30 * time.Second

const oneDay = 10 * time.Minute // more than the test takes

// closedWithin is wide as well: days are compared every minute.
const closedWithin = 4 * time.Minute

// TestEverythingThatTellsOfUsageAgrees makes calls of two apps with two keys each, whole and streamed, refused, broken and left,
// and holds every source against what the client counted. Then it changes one source behind the back of the others and wants
// that to be seen.
func TestEverythingThatTellsOfUsageAgrees(t *testing.T) {
	awaitRoomInDay()
	upstream := httptest.NewServer(&model{})
	defer upstream.Close()
	o := stacktest.Options(t)
	o.ChatURL, o.ChatModel, o.OneAttempt = upstream.URL+"/v1", "m", true
	in := stacktest.Run(t, o).Info()
	session := get[wire.Session](t, "POST", in.PortalURL+"/dev/auth/register", "", `{"name":"Ada","email":"ada@example.com","password":"a long enough password"}`)
	s := &sources{in: in, dir: o.Dir, session: session.AccessToken, account: session.Developer.ID, db: database(t, in)}
	c := &own{
		apps: map[string]wire.Counters{}, keys: map[string]wire.Counters{}, models: map[string]wire.Counters{}, status: map[int]wire.Counters{},
		unsure: map[string]bool{},
	}
	before := s.tokens(t)
	for range 2 {
		app := get[wire.App](t, "POST", in.PortalURL+"/dev/apps", s.session, `{"name":"Agree","environment":"live"}`)
		for n := range 2 {
			key := get[wire.NewKey](t, "POST", in.PortalURL+"/dev/apps/"+app.AppID+"/keys?wait=nodes", s.session, "")
			if c.total.Calls == 0 {
				s.first(t, c, app.AppID, key)
			}
			c.calls(t, in.GatewayURL, app.AppID, key, n == 1)
		}
	}
	c.quota = c.status[200].Calls // what was refused or failed costs none
	s.settle(t, c.total.Calls)
	if wrong := s.compare(t, c, before); len(wrong) > 0 {
		t.Fatalf("the client counted %+v, of quota %d:\n%s", c.total, c.quota, strings.Join(wrong, "\n"))
	}
	changes := map[string]string{
		`UPDATE usage_day SET calls = calls + 1 WHERE status = 200 AND account_id = $1`: `UPDATE usage_day SET calls = calls - 1 WHERE status = 200 AND account_id = $1`,
		`UPDATE usage_app_hour SET calls = calls + 1 WHERE account_id = $1`:             `UPDATE usage_app_hour SET calls = calls - 1 WHERE account_id = $1`,
		`UPDATE usage_account_day SET calls = calls + 1 WHERE account_id = $1`:          `UPDATE usage_account_day SET calls = calls - 1 WHERE account_id = $1`,
		`UPDATE usage_calls SET tokens_in = tokens_in + 1 WHERE app_id IN (SELECT id FROM apps WHERE developer_id = $1)`: `
			UPDATE usage_calls SET tokens_in = tokens_in - 1 WHERE app_id IN (SELECT id FROM apps WHERE developer_id = $1)`,
	}
	if partOfDay() {
		changes[`UPDATE usage_hour SET tokens_out = tokens_out + 1 WHERE account_id = $1`] = `UPDATE usage_hour SET tokens_out = tokens_out - 1 WHERE account_id = $1`
	}
	for broken, mended := range changes {
		s.change(t, broken)
		wrong := s.compare(t, c, before)
		if len(wrong) == 0 {
			t.Errorf("nobody sees %s", broken)
		}
		t.Logf("%s: %d numbers disagree", broken, len(wrong))
		s.change(t, mended)
	}
	if n := s.change(t, `UPDATE usage_day SET tokens_in = tokens_in + 2 WHERE account_id = $1`); n == 0 {
		t.Fatal("there is nothing to change")
	} else {
		s.awaitDrift(t, 2*n)
	}
	s.change(t, `UPDATE usage_day SET tokens_in = tokens_in - 2 WHERE account_id = $1`)
	s.awaitDrift(t, 0)
	if wrong := s.compare(t, c, before); len(wrong) > 0 {
		t.Errorf("after everything was mended:\n%s", strings.Join(wrong, "\n"))
	}
}

// partOfDay reports whether a range can begin within this UTC day. The lists of whole days are read by the day, so no answer has
// anything from the hours of today before.
func partOfDay() bool { return time.Now().UTC().Hour() > 0 }

// awaitRoomInDay returns when the UTC day is longer than the test, whose calls are to be of one day.
func awaitRoomInDay() {
	now := time.Now().UTC()
	if left := now.Truncate(24 * time.Hour).Add(24 * time.Hour).Sub(now); left < oneDay {
		time.Sleep(left)
	}
}

func TestTheLastMinutesOfADayAreWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		midnight := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 1)
		time.Sleep(time.Until(midnight.Add(-oneDay)))
		for before, want := range map[time.Duration]time.Duration{oneDay: oneDay, oneDay - time.Second: 24 * time.Hour} {
			time.Sleep(time.Until(midnight.Add(-before)))
			awaitRoomInDay()
			if left := 24*time.Hour - time.Since(time.Now().UTC().Truncate(24*time.Hour)); left != want {
				t.Errorf("%s before midnight: begins with %s left of the day, want %s", before, left, want)
			}
			midnight = midnight.AddDate(0, 0, 1)
		}
	})
}

// change does something to the database that no program would, and returns to how many rows.
func (s *sources) change(t *testing.T, statement string) int64 {
	t.Helper()
	tag, err := s.db.Exec(t.Context(), statement, s.account)
	if err != nil {
		t.Fatal(err)
	}
	return tag.RowsAffected()
}

// awaitDrift waits until the closing job has found the difference.
func (s *sources) awaitDrift(t *testing.T, want int64) {
	t.Helper()
	for begun := time.Now(); ; time.Sleep(250 * time.Millisecond) {
		_, text := send(t, "GET", s.in.MetricsURLs["controlplane"]+"/metrics", "", "text/plain", "")
		if strings.Contains(text, fmt.Sprintf("\nmodelgate_usage_drift %d\n", want)) {
			t.Logf("the metric says a drift of %d after %s", want, time.Since(begun).Round(time.Second))
			return
		}
		if time.Since(begun) > closedWithin {
			t.Fatalf("the metric does not say a drift of %d", want)
		}
	}
}

// first makes one call and measures how long it takes to show.
func (s *sources) first(t *testing.T, c *own, app string, key wire.NewKey) {
	t.Helper()
	c.chat(t, s.in.GatewayURL, app, key, "Darwin", "hello", false, false)
	t.Logf("the first call shows after %s", s.settle(t, 1).Round(time.Millisecond))
}

func (c *own) calls(t *testing.T, gateway, app string, key wire.NewKey, leaves bool) {
	t.Helper()
	for i := range 3 {
		for _, name := range []string{"Darwin", "Nova"} {
			c.chat(t, gateway, app, key, name, "hello", i%2 == 0, false)
		}
	}
	c.chat(t, gateway, app, key, "Darwin", "break down", false, false)
	c.chat(t, gateway, app, key, "Darwin", "break down", true, false)
	c.chat(t, gateway, app, key, "no such model", "hello", false, false)
	if leaves {
		c.chat(t, gateway, app, key, "Nova", "slowly", true, true)
	}
}

// sources are what tells of usage.
type sources struct {
	in               stack.Info
	dir              string
	session, account string
	db               *pgx.Conn
}

// settle waits until the account's usage has the calls.
func (s *sources) settle(t *testing.T, calls int64) time.Duration {
	t.Helper()
	for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		u := get[wire.AccountUsage](t, "GET", s.in.PortalURL+"/dev/usage?days=1", s.session, "")
		if u.Totals.Calls == calls {
			return time.Since(begun)
		}
		if time.Since(begun) > shownWithin {
			t.Fatalf("%d calls show, want %d", u.Totals.Calls, calls)
		}
	}
}

// differences are what does not agree.
type differences []string

func (d *differences) want(what string, got, want any) {
	if got != want {
		*d = append(*d, fmt.Sprintf("%s: %v, want %v", what, got, want))
	}
}

// compare returns what differs.
func (s *sources) compare(t *testing.T, c *own, before map[string]float64) (d differences) {
	t.Helper()
	all := get[wire.AccountUsage](t, "GET", s.in.PortalURL+"/dev/usage?days=1", s.session, "")
	d.want("account: calls", all.Totals.Calls, c.total.Calls)
	d.want("account: errors", all.Totals.Errors, c.total.Errors)
	questions := []string{"minute", "hour", "day"}
	if partOfDay() {
		questions = append(questions, "hour&tz=Etc/GMT%2B1") // there the day began at 01:00 UTC
	}
	for _, bucket := range questions {
		path := "/dev/usage?days=1&bucket=" + bucket
		u := get[wire.AccountUsage](t, "GET", s.in.PortalURL+path, s.session, "")
		d.want(bucket+": totals of the account", u.Totals, all.Totals)
		s.parts(t, &d, bucket+" of the account", path, u.Usage, u.ByApp)
	}
	d.want("apps", len(all.ByApp), len(c.apps))
	for _, group := range all.ByApp {
		d.want("by_app: calls", group.Calls, c.apps[group.AppID].Calls)
		s.app(t, &d, group)
	}
	for _, k := range all.ByKey {
		want := c.keys[k.KeyID]
		if c.unsure[k.KeyID] {
			want.TokensIn, want.TokensOut = k.TokensIn, k.TokensOut
		}
		d.want("by_key", k.Counters, want)
	}
	for _, m := range all.ByModel {
		d.want("by_model: calls of "+m.Model, m.Calls, c.models[m.Model].Calls)
	}
	for _, st := range all.ByStatus {
		d.want("by_status: calls of "+strconv.Itoa(st.Status), st.Calls, c.status[st.Status].Calls)
	}
	s.quota(t, &d, c.quota)
	now := s.tokens(t)
	d.want("node: tokens in", int64(now["in"]-before["in"]), all.Totals.TokensIn)
	d.want("node: tokens out", int64(now["out"]-before["out"]), all.Totals.TokensOut)
	d.want("node: calls ended", int64(now["ended"]-before["ended"]), c.total.Calls)
	_, text := send(t, "GET", s.in.MetricsURLs["controlplane"]+"/metrics", "", "text/plain", "")
	d.want("control plane: drift of 0 as a metric", strings.Contains(text, "\nmodelgate_usage_drift 0\n"), true)
	return d
}

// parts holds the lists of an answer, and the same as CSV, against its totals.
func (s *sources) parts(t *testing.T, d *differences, what, path string, u wire.Usage, apps []wire.AppGroup) {
	t.Helper()
	d.want(what+": drift", u.Drift, int64(0))
	listed := sums(u, apps)
	for list, sum := range listed {
		d.want(what+" by "+list, sum, u.Totals)
	}
	table := s.table(t, path)
	d.want(what+": parts of the CSV", len(table), len(listed)+1)
	for part, sum := range table {
		d.want(what+" as CSV, "+part, sum, u.Totals)
	}
}

// app holds an app's own numbers and its log of calls against its part of the account.
func (s *sources) app(t *testing.T, d *differences, group wire.AppGroup) {
	t.Helper()
	path := "/dev/apps/" + group.AppID
	u := get[wire.AppUsage](t, "GET", s.in.PortalURL+path+"/usage?days=1", s.session, "")
	d.want("app: totals", u.Totals, group.Counters)
	s.parts(t, d, "app", path+"/usage?days=1", u.Usage, nil)
	var logged wire.Counters
	for _, r := range get[wire.RequestPage](t, "GET", s.in.PortalURL+path+"/requests?limit=100", s.session, "").Requests {
		one := wire.Counters{Calls: 1, TokensIn: r.TokensIn, TokensOut: r.TokensOut}
		if r.Status >= 400 {
			one.Errors = 1
		}
		logged = plus(logged, one)
	}
	d.want("log of calls", logged, u.Totals)
}

// quota holds what goes by the account's day against each other.
func (s *sources) quota(t *testing.T, d *differences, want int64) {
	t.Helper()
	limits := get[wire.Limits](t, "GET", s.in.PortalURL+"/dev/limits", s.session, "")
	d.want("limits: used today", limits.Day.Used, want)
	d.want("seed of the rate-limit ledger", s.seed(t), want)
	var stored int64
	if err := s.db.QueryRow(t.Context(), `SELECT sum(calls)::INT8 FROM usage_account_day WHERE account_id = $1`, s.account).Scan(&stored); err != nil {
		t.Fatal(err)
	}
	d.want("account's day, which billing reads", stored, want)
}

// sums are those of the lists of an answer.
func sums(u wire.Usage, apps []wire.AppGroup) map[string]wire.Counters {
	all := map[string]wire.Counters{}
	add := func(list string, c wire.Counters) { all[list] = plus(all[list], c) }
	for _, p := range u.Series {
		add("time", p.Counters)
	}
	for _, p := range apps {
		add("app", p.Counters)
	}
	for _, p := range u.ByKey {
		add("key", p.Counters)
	}
	for _, p := range u.ByModel {
		add("model", p.Counters)
	}
	for _, p := range u.ByTask {
		add("task", p.Counters)
	}
	for _, p := range u.ByStatus {
		add("status", p.Counters)
	}
	for _, p := range u.BySource {
		add("source", p.Counters)
	}
	return all
}

// table adds up a CSV by its parts.
func (s *sources) table(t *testing.T, path string) map[string]wire.Counters {
	t.Helper()
	status, text := send(t, "GET", s.in.PortalURL+path, s.session, "text/csv", "")
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || status != 200 {
		t.Fatalf("%d %s %v", status, text, err)
	}
	all := map[string]wire.Counters{}
	for _, row := range rows[1:] {
		var n [4]int64
		for i := range n {
			if n[i], err = strconv.ParseInt(row[2+i], 10, 64); err != nil {
				t.Fatal(err)
			}
		}
		all[row[0]] = plus(all[row[0]], wire.Counters{Calls: n[0], Errors: n[1], TokensIn: n[2], TokensOut: n[3]})
	}
	return all
}

// seed asks the control plane, as the node does, what is used of the account's day.
func (s *sources) seed(t *testing.T) int64 {
	t.Helper()
	var identity plane.JoinAnswer
	text, err := os.ReadFile(filepath.Join(s.dir, s.in.Nodes[0].Name, "node.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &identity); err != nil {
		t.Fatal(err)
	}
	var config struct {
		ControlURL string `yaml:"control_url"`
	}
	settings(t, filepath.Join(filepath.Dir(s.in.ControlplaneConfig), s.in.Nodes[0].Name+".yaml"), &config)
	answer := get[plane.DaysAnswer](t, "POST", config.ControlURL+plane.DaysPath, identity.Secret,
		fmt.Sprintf(`{"day":%q,"accounts":[%q]}`, time.Now().UTC().Format(time.DateOnly), s.account))
	return answer.Calls[s.account]
}

// tokens are the sums of the node's metrics: tokens by direction, and calls that ended.
func (s *sources) tokens(t *testing.T) map[string]float64 {
	t.Helper()
	_, text := send(t, "GET", s.in.Nodes[0].MetricsURL+"/metrics", "", "text/plain", "")
	all := map[string]float64{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "} ")
		n, err := strconv.ParseFloat(value, 64)
		switch {
		case err != nil:
		case strings.HasPrefix(name, "modelgate_tokens_total") && strings.Contains(name, `direction="in"`):
			all["in"] += n
		case strings.HasPrefix(name, "modelgate_tokens_total"):
			all["out"] += n
		case strings.HasPrefix(name, "modelgate_calls_ended_total"):
			all["ended"] += n
		}
	}
	return all
}

func settings(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

func database(t *testing.T, in stack.Info) *pgx.Conn {
	t.Helper()
	var config struct {
		DatabaseURL string `yaml:"database_url"`
	}
	settings(t, in.ControlplaneConfig, &config)
	db, err := pgx.Connect(t.Context(), config.DatabaseURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close(context.WithoutCancel(t.Context())) })
	return db
}
