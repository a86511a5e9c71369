package store

const (
	// Rows are added up by the reader: a database that has to put sketches together sorts them on its disk.
	usedColumns = ` app_id, bucket, key_id, model, task, status, source, end_reason, calls, errors, tokens_in, tokens_out, ttft, took`

	// A point of a series, which is split by nothing.
	pointColumns = ` app_id, bucket, '00000000-0000-0000-0000-000000000000'::UUID, '', '', 0, '', '', calls, errors, tokens_in, tokens_out, ttft, took`

	noneColumns = `, '00000000-0000-0000-0000-000000000000'::UUID, $2::TIMESTAMPTZ, '00000000-0000-0000-0000-000000000000'::UUID, '', '', 0, '', ''`

	appDriftColumns = `
		UNION ALL
		SELECT 'drift'` + noneColumns + `, COALESCE(sum(
				abs(COALESCE(e.calls, 0) - COALESCE(d.calls, 0)) + abs(COALESCE(e.tokens_in, 0) - COALESCE(d.tokens_in, 0))
				+ abs(COALESCE(e.tokens_out, 0) - COALESCE(d.tokens_out, 0))), 0)::INT8, 0, 0, 0, ''::BYTEA, ''::BYTEA
		FROM (SELECT key_id, bucket, sum(calls) AS calls, sum(tokens_in) AS tokens_in, sum(tokens_out) AS tokens_out
			FROM usage_edge_day WHERE app_id = $1 AND bucket >= $4 AND bucket < $5 GROUP BY key_id, bucket) AS e
		FULL JOIN (SELECT key_id, bucket, sum(calls) AS calls, sum(tokens_in) AS tokens_in, sum(tokens_out) AS tokens_out
			FROM usage_day WHERE app_id = $1 AND bucket >= $4 AND bucket < $5 GROUP BY key_id, bucket) AS d ON e.key_id = d.key_id AND e.bucket = d.bucket`

	accountDriftColumns = `
		UNION ALL
		SELECT 'drift'` + noneColumns + `, COALESCE(sum(
				abs(COALESCE(e.calls, 0) - COALESCE(d.calls, 0)) + abs(COALESCE(e.tokens_in, 0) - COALESCE(d.tokens_in, 0))
				+ abs(COALESCE(e.tokens_out, 0) - COALESCE(d.tokens_out, 0))), 0)::INT8, 0, 0, 0, ''::BYTEA, ''::BYTEA
		FROM (SELECT key_id, bucket, sum(calls) AS calls, sum(tokens_in) AS tokens_in, sum(tokens_out) AS tokens_out
			FROM usage_edge_day WHERE account_id = $1 AND bucket >= $4 AND bucket < $5 GROUP BY key_id, bucket) AS e
		FULL JOIN (SELECT key_id, bucket, sum(calls) AS calls, sum(tokens_in) AS tokens_in, sum(tokens_out) AS tokens_out
			FROM usage_day WHERE account_id = $1 AND bucket >= $4 AND bucket < $5 GROUP BY key_id, bucket) AS d ON e.key_id = d.key_id AND e.bucket = d.bucket`

	selectAppUsageByMinute = `
		SELECT 'used' AS sort,` + usedColumns + ` FROM usage_minute WHERE app_id = $1 AND bucket >= $2 AND bucket < $3` + appDriftColumns

	// Whole UTC days are in few rows. What is before and after them is read by the hour, and so are the points.
	selectAppUsageByHour = `
		SELECT 'group' AS sort,` + usedColumns + ` FROM usage_day WHERE app_id = $1 AND bucket >= $6 AND bucket < $7
		UNION ALL SELECT 'group',` + usedColumns + ` FROM usage_hour WHERE app_id = $1 AND bucket >= $2 AND bucket < $6
		UNION ALL SELECT 'group',` + usedColumns + ` FROM usage_hour WHERE app_id = $1 AND bucket >= $7 AND bucket < $3
		UNION ALL SELECT 'point',` + pointColumns + ` FROM usage_app_hour WHERE app_id = $1 AND bucket >= $2 AND bucket < $3` + appDriftColumns

	selectAppUsageByDay = `
		SELECT 'used' AS sort,` + usedColumns + ` FROM usage_day WHERE app_id = $1 AND bucket >= $2 AND bucket < $3` + appDriftColumns

	selectAccountUsageByMinute = `
		SELECT 'used' AS sort,` + usedColumns + ` FROM usage_minute WHERE account_id = $1 AND bucket >= $2 AND bucket < $3` + accountDriftColumns

	selectAccountUsageByHour = `
		SELECT 'group' AS sort,` + usedColumns + ` FROM usage_day WHERE account_id = $1 AND bucket >= $6 AND bucket < $7
		UNION ALL SELECT 'group',` + usedColumns + ` FROM usage_hour WHERE account_id = $1 AND bucket >= $2 AND bucket < $6
		UNION ALL SELECT 'group',` + usedColumns + ` FROM usage_hour WHERE account_id = $1 AND bucket >= $7 AND bucket < $3
		UNION ALL SELECT 'point',` + pointColumns + ` FROM usage_app_hour WHERE account_id = $1 AND bucket >= $2 AND bucket < $3` + accountDriftColumns

	selectAccountUsageByDay = `
		SELECT 'used' AS sort,` + usedColumns + ` FROM usage_day WHERE account_id = $1 AND bucket >= $2 AND bucket < $3` + accountDriftColumns

	selectAccountDay = `SELECT calls FROM usage_account_day WHERE account_id = $1 AND day = $2::DATE`

	selectAccountDays = `SELECT account_id::TEXT AS account_id, calls FROM usage_account_day WHERE account_id = ANY($1::UUID[]) AND day = $2::DATE`

	minuteColumns = `
			COALESCE(sum(u.calls) FILTER (WHERE u.bucket >= $3), 0)::INT8 AS used,
			COALESCE(sum(u.calls) FILTER (WHERE u.bucket < $3), 0)::INT8 AS before, max(k.last_used_at) AS last_used_at
		FROM usage_minute AS u JOIN api_keys AS k ON k.id = u.key_id`

	// The limits count neither what they refuse nor what is given back, being a failure of ours before an answer began.
	admittedColumns = `
		WHERE u.account_id = $1 AND u.bucket >= $2 AND u.status <> 429
			AND NOT (u.status IN (500, 502, 503) AND u.end_reason IN ('refused', 'failed'))`

	selectKeyMinutes = `
		SELECT k.id::TEXT AS key_id, COALESCE(k.app_id::TEXT, '') AS app_id, k.hint,` + minuteColumns + admittedColumns + `
		GROUP BY k.id, k.app_id, k.hint ORDER BY sum(u.calls) DESC, k.id LIMIT $4`

	selectAppMinutes = `
		SELECT a.id::TEXT AS app_id, a.rate_limit,` + minuteColumns + ` JOIN apps AS a ON a.id = u.app_id` + admittedColumns + `
		GROUP BY a.id, a.rate_limit ORDER BY sum(u.calls) DESC, a.id LIMIT $4`

	closeDay = `
		INSERT INTO usage_closing (bucket, key_days, calls, drift, at)
		SELECT $1::TIMESTAMPTZ, count(*), COALESCE(sum(d.calls), 0)::INT8, COALESCE(sum(
				abs(COALESCE(e.calls, 0) - COALESCE(d.calls, 0)) + abs(COALESCE(e.tokens_in, 0) - COALESCE(d.tokens_in, 0))
				+ abs(COALESCE(e.tokens_out, 0) - COALESCE(d.tokens_out, 0))), 0)::INT8, $2::TIMESTAMPTZ
		FROM (SELECT key_id, sum(calls) AS calls, sum(tokens_in) AS tokens_in, sum(tokens_out) AS tokens_out
			FROM usage_edge_day WHERE bucket = $1::TIMESTAMPTZ GROUP BY key_id) AS e
		FULL JOIN (SELECT key_id, sum(calls) AS calls, sum(tokens_in) AS tokens_in, sum(tokens_out) AS tokens_out
			FROM usage_day WHERE bucket = $1::TIMESTAMPTZ GROUP BY key_id) AS d ON e.key_id = d.key_id
		ON CONFLICT (bucket) DO UPDATE
		SET key_days = excluded.key_days, calls = excluded.calls, drift = excluded.drift, at = excluded.at
		RETURNING drift`

	selectClosed = `SELECT COALESCE(sum(drift), 0)::INT8 AS drift, count(*) AS days, max(at) AS at FROM usage_closing`

	// A page at a time, so that no transaction is long.
	deleteOldMinutes = `
		DELETE FROM usage_minute WHERE (app_id, bucket, key_id, account_id, model, task, status, source, end_reason) IN (
			SELECT app_id, bucket, key_id, account_id, model, task, status, source, end_reason FROM usage_minute WHERE bucket < $1 ORDER BY bucket LIMIT $2)`

	deleteOldHours = `
		DELETE FROM usage_hour WHERE (app_id, bucket, key_id, account_id, model, task, status, source, end_reason) IN (
			SELECT app_id, bucket, key_id, account_id, model, task, status, source, end_reason FROM usage_hour WHERE bucket < $1 ORDER BY bucket LIMIT $2)`

	deleteOldAppHours = `
		DELETE FROM usage_app_hour WHERE (app_id, bucket, account_id) IN (
			SELECT app_id, bucket, account_id FROM usage_app_hour WHERE bucket < $1 ORDER BY bucket LIMIT $2)`
)

func ledgerStatements() map[string]string {
	return map[string]string{
		"selectAppUsageByMinute":     selectAppUsageByMinute,
		"selectAppUsageByHour":       selectAppUsageByHour,
		"selectAppUsageByDay":        selectAppUsageByDay,
		"selectAccountUsageByMinute": selectAccountUsageByMinute,
		"selectAccountUsageByHour":   selectAccountUsageByHour,
		"selectAccountUsageByDay":    selectAccountUsageByDay,
		"selectAccountDay":           selectAccountDay,
		"selectKeyMinutes":           selectKeyMinutes,
		"selectAppMinutes":           selectAppMinutes,
		"closeDay":                   closeDay,
		"selectClosed":               selectClosed,
		"deleteOldMinutes":           deleteOldMinutes,
		"deleteOldHours":             deleteOldHours,
		"deleteOldAppHours":          deleteOldAppHours,
		"selectAccountDays":          selectAccountDays,
	}
}
