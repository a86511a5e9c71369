package store

const (
	selectUsageProgress = `SELECT next_seq FROM usage_progress WHERE node_id = $1 AND incarnation = $2 FOR UPDATE`

	upsertUsageProgress = `
		INSERT INTO usage_progress (node_id, incarnation, next_seq, updated_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (node_id, incarnation) DO UPDATE SET next_seq = excluded.next_seq, updated_at = excluded.updated_at`

	rollupColumns = `app_id, bucket, key_id, account_id, model, task, status, source, calls, errors, tokens_in, tokens_out`

	newRollupColumns = `
		SELECT u.app_id, u.bucket, u.key_id, u.account_id, u.model, u.task, u.status, u.source,
			u.calls, u.errors, u.tokens_in, u.tokens_out
		FROM unnest($1::UUID[], $2::TIMESTAMPTZ[], $3::UUID[], $4::UUID[], $5::TEXT[], $6::TEXT[], $7::INT8[], $8::TEXT[],
			$9::INT8[], $10::INT8[], $11::INT8[], $12::INT8[]) AS u (` + rollupColumns + `)
		ON CONFLICT (app_id, bucket, key_id, account_id, model, task, status, source) DO UPDATE`

	upsertUsageHour = `
		INSERT INTO usage_hour (` + rollupColumns + `)` + newRollupColumns + `
		SET calls = usage_hour.calls + excluded.calls, errors = usage_hour.errors + excluded.errors,
			tokens_in = usage_hour.tokens_in + excluded.tokens_in, tokens_out = usage_hour.tokens_out + excluded.tokens_out`

	upsertUsageDay = `
		INSERT INTO usage_day (` + rollupColumns + `)` + newRollupColumns + `
		SET calls = usage_day.calls + excluded.calls, errors = usage_day.errors + excluded.errors,
			tokens_in = usage_day.tokens_in + excluded.tokens_in, tokens_out = usage_day.tokens_out + excluded.tokens_out`

	upsertUsageAccountDay = `
		INSERT INTO usage_account_day (account_id, day, calls)
		SELECT u.account_id, u.day, u.calls FROM unnest($1::UUID[], $2::DATE[], $3::INT8[]) AS u (account_id, day, calls)
		ON CONFLICT (account_id, day) DO UPDATE SET calls = usage_account_day.calls + excluded.calls`

	upsertUsageAppApplied = `
		INSERT INTO usage_app_applied (app_id, node_id, calls)
		SELECT u.app_id, $3::UUID, u.calls FROM unnest($1::UUID[], $2::INT8[]) AS u (app_id, calls)
		ON CONFLICT (app_id, node_id) DO UPDATE SET calls = usage_app_applied.calls + excluded.calls`

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
		"selectUsageProgress":   selectUsageProgress,
		"upsertUsageProgress":   upsertUsageProgress,
		"upsertUsageHour":       upsertUsageHour,
		"upsertUsageDay":        upsertUsageDay,
		"upsertUsageAccountDay": upsertUsageAccountDay,
		"upsertUsageAppApplied": upsertUsageAppApplied,
		"updateKeysLastUsed":    updateKeysLastUsed,
		"upsertUsageRejected":   upsertUsageRejected,
	}
}
