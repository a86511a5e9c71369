package store

const (
	// One statement, so that everything is of one moment. Every sort of parts is a sum over the same rows.
	usagePartColumns = `
		SELECT 'time' AS sort, '' AS name, u.bucket AS at, sum(u.calls)::INT8 AS calls, sum(u.errors)::INT8 AS errors,
			sum(u.tokens_in)::INT8 AS tokens_in, sum(u.tokens_out)::INT8 AS tokens_out
		FROM used AS u GROUP BY u.bucket
		UNION ALL
		SELECT 'key', u.key_id::TEXT, NULL, sum(u.calls)::INT8, sum(u.errors)::INT8, sum(u.tokens_in)::INT8, sum(u.tokens_out)::INT8
		FROM used AS u GROUP BY u.key_id
		UNION ALL
		SELECT 'model', u.model, NULL, sum(u.calls)::INT8, sum(u.errors)::INT8, sum(u.tokens_in)::INT8, sum(u.tokens_out)::INT8
		FROM used AS u GROUP BY u.model
		UNION ALL
		SELECT 'task', u.task, NULL, sum(u.calls)::INT8, sum(u.errors)::INT8, sum(u.tokens_in)::INT8, sum(u.tokens_out)::INT8
		FROM used AS u GROUP BY u.task
		UNION ALL
		SELECT 'status', u.status::TEXT, NULL, sum(u.calls)::INT8, sum(u.errors)::INT8, sum(u.tokens_in)::INT8, sum(u.tokens_out)::INT8
		FROM used AS u GROUP BY u.status
		UNION ALL
		SELECT 'applied', '', NULL, COALESCE(sum(a.calls), 0)::INT8, 0, 0, 0 FROM usage_app_applied AS a WHERE a.app_id = $1
		UNION ALL
		SELECT 'stored', '', NULL, COALESCE(sum(d.calls), 0)::INT8, 0, 0, 0 FROM usage_day AS d WHERE d.app_id = $1
		ORDER BY at ASC NULLS LAST, sort, calls DESC, name`

	selectAppUsageByHour = `
		WITH used AS (SELECT ` + rollupColumns + ` FROM usage_hour WHERE app_id = $1 AND bucket >= $2 AND bucket < $3)` + usagePartColumns

	selectAppUsageByDay = `
		WITH used AS (SELECT ` + rollupColumns + ` FROM usage_day WHERE app_id = $1 AND bucket >= $2 AND bucket < $3)` + usagePartColumns

	selectAccountDay = `SELECT calls FROM usage_account_day WHERE account_id = $1 AND day = $2::DATE`
)

func ledgerStatements() map[string]string {
	return map[string]string{
		"selectAppUsageByHour": selectAppUsageByHour,
		"selectAppUsageByDay":  selectAppUsageByDay,
		"selectAccountDay":     selectAccountDay,
	}
}
