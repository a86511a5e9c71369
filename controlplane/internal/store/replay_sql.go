package store

const (
	replayColumns = `claim_id, request_hash AS request, running, size, kek_id, sealed_key, nonce, ciphertext`

	// A row whose time is over, or whose claim has run out, is taken over as if it were not there.
	claimReplay = `
		INSERT INTO call_replays (scope_id, key_hash, request_hash, key_id, claim_id, running, lease_until, created_at, size, kek_id,
			sealed_key, nonce, ciphertext)
		VALUES ($1, $2, $3, $4, $5, true, $6, $7, 0, '', $8, $8, $8)
		ON CONFLICT (scope_id, key_hash) DO UPDATE
		SET request_hash = excluded.request_hash, key_id = excluded.key_id, claim_id = excluded.claim_id, running = true,
			lease_until = excluded.lease_until, created_at = excluded.created_at, size = 0, kek_id = '', sealed_key = excluded.sealed_key,
			nonce = excluded.nonce, ciphertext = excluded.ciphertext
		WHERE call_replays.created_at <= $9 OR (call_replays.running AND call_replays.lease_until <= $7)`

	selectReplay = `
		SELECT ` + replayColumns + ` FROM call_replays
		WHERE scope_id = $1 AND key_hash = $2 AND created_at > $4 AND NOT (running AND lease_until <= $3)`

	selectReplayTotals = `
		SELECT count(*) AS entries, COALESCE(sum(size), 0)::INT8 AS bytes FROM call_replays WHERE scope_id = $1 AND created_at > $2`

	selectReplayScope = `SELECT scope_id FROM call_replays WHERE claim_id = $1 AND running`

	renewReplay = `UPDATE call_replays SET lease_until = $2 WHERE claim_id = $1 AND running`

	finishReplay = `
		UPDATE call_replays SET running = false, size = $2, kek_id = $3, sealed_key = $4, nonce = $5, ciphertext = $6
		WHERE claim_id = $1 AND running`

	freeReplay = `DELETE FROM call_replays WHERE claim_id = $1 AND running`

	deleteOldReplays = `
		DELETE FROM call_replays WHERE (scope_id, key_hash) IN (
			SELECT scope_id, key_hash FROM call_replays WHERE created_at <= $1 ORDER BY created_at LIMIT $2)`
)

func replayStatements() map[string]string {
	return map[string]string{
		"claimReplay":        claimReplay,
		"selectReplay":       selectReplay,
		"selectReplayTotals": selectReplayTotals,
		"selectReplayScope":  selectReplayScope,
		"renewReplay":        renewReplay,
		"finishReplay":       finishReplay,
		"freeReplay":         freeReplay,
		"deleteOldReplays":   deleteOldReplays,
	}
}
