package store

//nolint:gosec // SQL about secrets, no secrets
const (
	selectKeyRequest = `
		SELECT r.request_hash, r.key_id, COALESCE(k.app_id::TEXT, '') AS app_id, r.value_hash, r.version, r.previous_until, s.state, s.kek_id, s.sealed_key, s.nonce,
			s.ciphertext, s.created_at AS made_at
		FROM key_requests AS r
		JOIN api_key_secrets AS s ON s.hash = r.value_hash
		JOIN api_keys AS k ON k.id = r.key_id
		WHERE r.developer_id = $1 AND r.idempotency_hash = $2 AND r.created_at > $3`

	countKeyRequests = `SELECT count(*) FROM key_requests WHERE developer_id = $1`

	insertKeyRequest = `
		INSERT INTO key_requests (developer_id, idempotency_hash, request_hash, key_id, value_hash, version, previous_until, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`

	deleteOldKeyRequestsOf = `DELETE FROM key_requests WHERE developer_id = $1 AND created_at <= $2`

	deleteOldKeyRequests = `
		DELETE FROM key_requests WHERE (developer_id, idempotency_hash) IN (
			SELECT developer_id, idempotency_hash FROM key_requests WHERE created_at <= $1 ORDER BY created_at LIMIT $2)`

	countValues = `
		SELECT count(*) FROM api_key_secrets
		WHERE key_id = $1 AND state = 'active' AND (not_after IS NULL OR not_after > $2)`

	limitSecrets = `
		UPDATE api_key_secrets
		SET not_after = LEAST(COALESCE(not_after, $2::TIMESTAMPTZ), $2::TIMESTAMPTZ), sealed_key = $3, nonce = $3, ciphertext = $3
		WHERE key_id = $1 AND state = 'active'`

	selectKeysWithEndedValues = `
		SELECT DISTINCT key_id FROM api_key_secrets
		WHERE state = 'active' AND not_after <= $1 ORDER BY key_id LIMIT $2`

	retireSecrets = `
		UPDATE api_key_secrets SET state = 'revoked', sealed_key = $3, nonce = $3, ciphertext = $3
		WHERE key_id = $1 AND state = 'active' AND not_after <= $2 RETURNING hash`
)

func onceStatements() map[string]string {
	return map[string]string{
		"selectKeyRequest":          selectKeyRequest,
		"countKeyRequests":          countKeyRequests,
		"insertKeyRequest":          insertKeyRequest,
		"deleteOldKeyRequestsOf":    deleteOldKeyRequestsOf,
		"deleteOldKeyRequests":      deleteOldKeyRequests,
		"countValues":               countValues,
		"limitSecrets":              limitSecrets,
		"selectKeysWithEndedValues": selectKeysWithEndedValues,
		"retireSecrets":             retireSecrets,
	}
}
