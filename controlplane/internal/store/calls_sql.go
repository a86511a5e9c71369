package store

const (
	insertCalls = `
		INSERT INTO usage_calls (app_id, at, id, key_id, endpoint, task, model, status, end_reason, source, ttft_us, took_us, tokens_in, tokens_out)
		SELECT u.app_id, u.at, u.id, u.key_id, u.endpoint, u.task, u.model, u.status, u.end_reason, u.source, u.ttft_us, u.took_us,
			u.tokens_in, u.tokens_out
		FROM unnest($1::UUID[], $2::TIMESTAMPTZ[], $3::TEXT[], $4::UUID[], $5::TEXT[], $6::TEXT[], $7::TEXT[], $8::INT8[], $9::TEXT[],
			$10::TEXT[], $11::INT8[], $12::INT8[], $13::INT8[], $14::INT8[])
			AS u (app_id, at, id, key_id, endpoint, task, model, status, end_reason, source, ttft_us, took_us, tokens_in, tokens_out)
		ON CONFLICT (app_id, at, id) DO NOTHING`

	upsertCallsLeft = `
		INSERT INTO usage_calls_left (app_id, day, calls)
		SELECT u.app_id, u.day, u.calls FROM unnest($1::UUID[], $2::DATE[], $3::INT8[]) AS u (app_id, day, calls)
		ON CONFLICT (app_id, day) DO UPDATE SET calls = usage_calls_left.calls + excluded.calls`

	selectCalls = `
		SELECT c.at, c.id, c.key_id, k.hint, c.endpoint, c.task, c.model, c.status, c.end_reason, c.source, c.ttft_us, c.took_us,
			c.tokens_in, c.tokens_out
		FROM usage_calls AS c LEFT JOIN api_keys AS k ON k.id = c.key_id
		WHERE c.app_id = $1 AND c.at >= $2 AND c.at < $3 AND (c.at, c.id) < ($4, $5)
			AND ($6::UUID IS NULL OR c.key_id = $6) AND ($7 = '' OR c.model = $7) AND c.status >= $8 AND c.status < $9
		ORDER BY c.at DESC, c.id DESC LIMIT $10`

	selectCallsLeft = `SELECT COALESCE(sum(calls), 0)::INT8 AS calls FROM usage_calls_left WHERE app_id = $1 AND day >= $2::DATE`

	deleteOldCalls = `
		DELETE FROM usage_calls WHERE (app_id, at, id) IN (
			SELECT app_id, at, id FROM usage_calls WHERE at < $1 ORDER BY at LIMIT $2)`

	deleteOldCallsLeft = `
		DELETE FROM usage_calls_left WHERE (app_id, day) IN (
			SELECT app_id, day FROM usage_calls_left WHERE day < $1::DATE ORDER BY day LIMIT $2)`
)

func callsStatements() map[string]string {
	return map[string]string{
		"insertCalls":        insertCalls,
		"upsertCallsLeft":    upsertCallsLeft,
		"selectCalls":        selectCalls,
		"selectCallsLeft":    selectCallsLeft,
		"deleteOldCalls":     deleteOldCalls,
		"deleteOldCallsLeft": deleteOldCallsLeft,
	}
}
