package store

import (
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// What a chart reads does not grow with the usage of other apps.
func TestAChartReadsItsAppsRowsOnly(t *testing.T) {
	s := open(t)
	if s.cockroach {
		t.Skip("counts the pages that PostgreSQL says it reads")
	}
	app, day := uuid.New(), micros().Truncate(24*time.Hour)
	pages := func() (sum int) {
		t.Helper()
		found, err := s.pool.Query(t.Context(), "EXPLAIN (ANALYZE, BUFFERS) "+selectAppUsageByHour,
			app, day.AddDate(0, 0, -9).Add(-5*time.Hour), day.Add(-3*time.Hour), day.AddDate(0, 0, -10), day, day.AddDate(0, 0, -9), day.AddDate(0, 0, -1))
		if err != nil {
			t.Fatal(err)
		}
		lines, err := pgx.CollectRows(found, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range lines {
			if n := pagesRead.FindStringSubmatch(line); n != nil { // the first is that of the whole statement
				hit, _ := strconv.Atoi(n[1])
				read, _ := strconv.Atoi(n[2])
				return hit + read
			}
		}
		t.Fatalf("no pages in %v", lines)
		return 0
	}
	seedCharts(t, s, app, day, 1, 1)
	alone := pages()
	seedCharts(t, s, app, day, 2, 200)
	if crowded := pages(); crowded > chartPagesMost {
		t.Errorf("a chart reads %d pages beside 199 other apps, %d without", crowded, alone)
	} else {
		t.Logf("%d pages beside 199 other apps, %d without", crowded, alone)
	}
}

// seedCharts stores ten days of usage of the apps numbered from first to last, of which the first is app.
func seedCharts(t *testing.T, s *Store, app uuid.UUID, day time.Time, first, last int) {
	t.Helper()
	for table, statement := range map[string]string{
		"usage_hour": `
			INSERT INTO usage_hour (app_id, bucket, key_id, account_id, model, task, status, source, end_reason, calls, errors, tokens_in, tokens_out, ttft, took)
			SELECT CASE i WHEN 1 THEN $1::UUID ELSE gen_random_uuid() END, $2::TIMESTAMPTZ - h * INTERVAL '1 hour', $1, $1, '', '', 200, '', '', 1, 0, 0, 0, '', ''
			FROM generate_series(1, 240) AS h, generate_series($3::INT8, $4::INT8) AS i`,
		"usage_app_hour": `
			INSERT INTO usage_app_hour (app_id, bucket, account_id, calls, errors, tokens_in, tokens_out, ttft, took)
			SELECT CASE i WHEN 1 THEN $1::UUID ELSE gen_random_uuid() END, $2::TIMESTAMPTZ - h * INTERVAL '1 hour', $1, 1, 0, 0, 0, '', ''
			FROM generate_series(1, 240) AS h, generate_series($3::INT8, $4::INT8) AS i`,
		"usage_day": `
			INSERT INTO usage_day (app_id, bucket, key_id, account_id, model, task, status, source, end_reason, calls, errors, tokens_in, tokens_out, ttft, took)
			SELECT CASE i WHEN 1 THEN $1::UUID ELSE gen_random_uuid() END, $2::TIMESTAMPTZ - d * INTERVAL '1 day', $1, $1, '', '', 200, '', '', 24, 0, 0, 0, '', ''
			FROM generate_series(1, 10) AS d, generate_series($3::INT8, $4::INT8) AS i`,
		"usage_edge_day": `
			INSERT INTO usage_edge_day (app_id, bucket, key_id, account_id, node_id, calls, tokens_in, tokens_out)
			SELECT CASE i WHEN 1 THEN $1::UUID ELSE gen_random_uuid() END, $2::TIMESTAMPTZ - d * INTERVAL '1 day', $1, $1, $1, 24, 0, 0
			FROM generate_series(1, 10) AS d, generate_series($3::INT8, $4::INT8) AS i`,
	} {
		if _, err := s.pool.Exec(t.Context(), statement, app, day, first, last); err != nil {
			t.Fatal(err)
		}
		if _, err := s.pool.Exec(t.Context(), "ANALYZE "+table); err != nil {
			t.Fatal(err)
		}
	}
}

// chartPagesMost is several times what the app's rows and the ways to them in the indexes take. The tables have thousands.
const chartPagesMost = 100

var pagesRead = regexp.MustCompile(`Buffers: shared hit=(\d+)(?: read=(\d+))?`)
