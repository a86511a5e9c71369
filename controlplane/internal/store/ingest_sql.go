package store

const (
	selectUsageProgress = `SELECT next_seq FROM usage_progress WHERE node_id = $1 AND incarnation = $2 FOR UPDATE`

	upsertUsageProgress = `
		INSERT INTO usage_progress (node_id, incarnation, next_seq, updated_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (node_id, incarnation) DO UPDATE SET next_seq = excluded.next_seq, updated_at = excluded.updated_at`

	rollupColumns = `app_id, bucket, key_id, account_id, model, task, status, source, end_reason, calls, errors, tokens_in, tokens_out, ttft, took`

	newRollupColumns = `
		SELECT u.app_id, u.bucket, u.key_id, u.account_id, u.model, u.task, u.status, u.source, u.end_reason,
			u.calls, u.errors, u.tokens_in, u.tokens_out, u.ttft, u.took
		FROM unnest($1::UUID[], $2::TIMESTAMPTZ[], $3::UUID[], $4::UUID[], $5::TEXT[], $6::TEXT[], $7::INT8[], $8::TEXT[], $9::TEXT[],
			$10::INT8[], $11::INT8[], $12::INT8[], $13::INT8[], $14::BYTEA[], $15::BYTEA[]) AS u (` + rollupColumns + `)
		ON CONFLICT (app_id, bucket, key_id, account_id, model, task, status, source, end_reason) DO UPDATE`

	longRollupColumns = `app_id, bucket, key_id, account_id, model, task, status, source, end_reason, ttft, took`

	// Sketches behind each other are their sum. What is replaced was read by the same transaction.
	returningLongColumns = `
			RETURNING ` + longRollupColumns + `)
		SELECT ` + longRollupColumns + ` FROM added WHERE octet_length(ttft) + octet_length(took) > $16::INT8`

	upsertUsageMinute = `WITH added AS (
		INSERT INTO usage_minute (` + rollupColumns + `)` + newRollupColumns + `
		SET calls = usage_minute.calls + excluded.calls, errors = usage_minute.errors + excluded.errors,
			tokens_in = usage_minute.tokens_in + excluded.tokens_in, tokens_out = usage_minute.tokens_out + excluded.tokens_out,
			ttft = usage_minute.ttft || excluded.ttft, took = usage_minute.took || excluded.took` + returningLongColumns

	replaceSketchesMinute = `
		INSERT INTO usage_minute (` + rollupColumns + `)` + newRollupColumns + ` SET ttft = excluded.ttft, took = excluded.took`

	upsertUsageHour = `WITH added AS (
		INSERT INTO usage_hour (` + rollupColumns + `)` + newRollupColumns + `
		SET calls = usage_hour.calls + excluded.calls, errors = usage_hour.errors + excluded.errors,
			tokens_in = usage_hour.tokens_in + excluded.tokens_in, tokens_out = usage_hour.tokens_out + excluded.tokens_out,
			ttft = usage_hour.ttft || excluded.ttft, took = usage_hour.took || excluded.took` + returningLongColumns

	replaceSketchesHour = `
		INSERT INTO usage_hour (` + rollupColumns + `)` + newRollupColumns + ` SET ttft = excluded.ttft, took = excluded.took`

	upsertUsageDay = `WITH added AS (
		INSERT INTO usage_day (` + rollupColumns + `)` + newRollupColumns + `
		SET calls = usage_day.calls + excluded.calls, errors = usage_day.errors + excluded.errors,
			tokens_in = usage_day.tokens_in + excluded.tokens_in, tokens_out = usage_day.tokens_out + excluded.tokens_out,
			ttft = usage_day.ttft || excluded.ttft, took = usage_day.took || excluded.took` + returningLongColumns

	replaceSketchesDay = `
		INSERT INTO usage_day (` + rollupColumns + `)` + newRollupColumns + ` SET ttft = excluded.ttft, took = excluded.took`

	// The points of charts have the columns of a rollup but for what they are not split by.
	appHourColumns = `app_id, bucket, account_id, calls, errors, tokens_in, tokens_out, ttft, took`

	newAppHourColumns = `
		SELECT u.app_id, u.bucket, u.account_id, u.calls, u.errors, u.tokens_in, u.tokens_out, u.ttft, u.took
		FROM unnest($1::UUID[], $2::TIMESTAMPTZ[], $3::UUID[], $4::UUID[], $5::TEXT[], $6::TEXT[], $7::INT8[], $8::TEXT[], $9::TEXT[],
			$10::INT8[], $11::INT8[], $12::INT8[], $13::INT8[], $14::BYTEA[], $15::BYTEA[]) AS u (` + rollupColumns + `)
		ON CONFLICT (app_id, bucket, account_id) DO UPDATE`

	upsertUsageAppHour = `WITH added AS (
		INSERT INTO usage_app_hour (` + appHourColumns + `)` + newAppHourColumns + `
		SET calls = usage_app_hour.calls + excluded.calls, errors = usage_app_hour.errors + excluded.errors,
			tokens_in = usage_app_hour.tokens_in + excluded.tokens_in, tokens_out = usage_app_hour.tokens_out + excluded.tokens_out,
			ttft = usage_app_hour.ttft || excluded.ttft, took = usage_app_hour.took || excluded.took
			RETURNING app_id, bucket, account_id, ttft, took)
		SELECT app_id, bucket, '00000000-0000-0000-0000-000000000000'::UUID AS key_id, account_id, '' AS model, '' AS task, 0::INT8 AS status,
			'' AS source, '' AS end_reason, ttft, took
		FROM added WHERE octet_length(ttft) + octet_length(took) > $16::INT8`

	replaceSketchesAppHour = `
		INSERT INTO usage_app_hour (` + appHourColumns + `)` + newAppHourColumns + ` SET ttft = excluded.ttft, took = excluded.took`

	upsertUsageAccountDay = `
		INSERT INTO usage_account_day (account_id, day, calls)
		SELECT u.account_id, u.day, u.calls FROM unnest($1::UUID[], $2::DATE[], $3::INT8[]) AS u (account_id, day, calls)
		ON CONFLICT (account_id, day) DO UPDATE SET calls = usage_account_day.calls + excluded.calls`

	upsertUsageEdgeDay = `
		INSERT INTO usage_edge_day (app_id, bucket, key_id, account_id, node_id, calls, tokens_in, tokens_out)
		SELECT u.app_id, u.bucket, u.key_id, u.account_id, $5::UUID, u.calls, u.tokens_in, u.tokens_out
		FROM unnest($1::UUID[], $2::TIMESTAMPTZ[], $3::UUID[], $4::UUID[], $6::INT8[], $7::INT8[], $8::INT8[])
			AS u (app_id, bucket, key_id, account_id, calls, tokens_in, tokens_out)
		ON CONFLICT (app_id, bucket, key_id, account_id, node_id) DO UPDATE
		SET calls = usage_edge_day.calls + excluded.calls, tokens_in = usage_edge_day.tokens_in + excluded.tokens_in,
			tokens_out = usage_edge_day.tokens_out + excluded.tokens_out`

	updateKeysLastUsed = `
		UPDATE api_keys SET last_used_at = u.at
		FROM unnest($1::UUID[], $2::TIMESTAMPTZ[]) AS u (id, at)
		WHERE api_keys.id = u.id AND (api_keys.last_used_at IS NULL OR api_keys.last_used_at < u.at)`

	upsertUsageRejected = `
		INSERT INTO usage_rejected (node_id, incarnation, seq, whole, reason, body, times, at)
		VALUES ($1, $2, $3, $4, $5, $6, 1, $7)
		ON CONFLICT (node_id, incarnation, seq, whole) DO UPDATE
		SET reason = excluded.reason, body = excluded.body, times = usage_rejected.times + 1, at = excluded.at`
)

func ingestStatements() map[string]string {
	return map[string]string{
		"selectUsageProgress":    selectUsageProgress,
		"upsertUsageProgress":    upsertUsageProgress,
		"replaceSketchesMinute":  replaceSketchesMinute,
		"replaceSketchesHour":    replaceSketchesHour,
		"replaceSketchesDay":     replaceSketchesDay,
		"upsertUsageMinute":      upsertUsageMinute,
		"upsertUsageHour":        upsertUsageHour,
		"upsertUsageDay":         upsertUsageDay,
		"upsertUsageAppHour":     upsertUsageAppHour,
		"replaceSketchesAppHour": replaceSketchesAppHour,
		"upsertUsageAccountDay":  upsertUsageAccountDay,
		"upsertUsageEdgeDay":     upsertUsageEdgeDay,
		"updateKeysLastUsed":     updateKeysLastUsed,
		"upsertUsageRejected":    upsertUsageRejected,
	}
}
