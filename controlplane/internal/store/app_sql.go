package store

//nolint:gosec // SQL about secrets, no secrets
const (
	appColumns = `id, developer_id, name, description, environment, families, tasks, rate_limit, active, expires_at,
		created_at, updated_at`

	keyColumns = `id, developer_id, app_id, kind, hint, name, scopes, metadata, expires_at, created_at, last_used_at,
		revoked_at, revoked_version`

	countApps = `SELECT count(*) FROM apps WHERE developer_id = $1`

	insertApp = `
		INSERT INTO apps (id, developer_id, name, description, environment, families, tasks, rate_limit, active, expires_at,
			created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`

	selectApps = `SELECT ` + appColumns + ` FROM apps WHERE developer_id = $1 ORDER BY created_at DESC, id LIMIT $2`

	selectApp = `SELECT ` + appColumns + ` FROM apps WHERE id = $1 AND developer_id = $2`

	updateApp = `
		UPDATE apps
		SET name = $2, description = $3, environment = $4, families = $5, tasks = $6, rate_limit = $7, active = $8,
			updated_at = $9
		WHERE id = $1`

	deleteApp = `DELETE FROM apps WHERE id = $1`

	countKeys = `SELECT count(*) FROM api_keys WHERE app_id = $1 AND revoked_at IS NULL`

	countTokens = `SELECT count(*) FROM api_keys WHERE developer_id = $1 AND app_id IS NULL AND revoked_at IS NULL`

	insertKey = `
		INSERT INTO api_keys (id, developer_id, app_id, kind, hint, name, scopes, metadata, expires_at, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`

	selectKeys = `
		SELECT ` + keyColumns + ` FROM api_keys
		WHERE app_id = $1 AND developer_id = $2 ORDER BY created_at DESC, id LIMIT $3`

	selectKey = `SELECT ` + keyColumns + ` FROM api_keys WHERE id = $1 AND app_id = $2 AND developer_id = $3`

	selectTokens = `
		SELECT ` + keyColumns + ` FROM api_keys
		WHERE developer_id = $1 AND app_id IS NULL ORDER BY created_at DESC, id LIMIT $2`

	selectToken = `SELECT ` + keyColumns + ` FROM api_keys WHERE id = $1 AND app_id IS NULL AND developer_id = $2`

	updateKeyHint = `UPDATE api_keys SET hint = $2 WHERE id = $1`

	revokeKey = `UPDATE api_keys SET revoked_at = $2, revoked_version = $3 WHERE id = $1`

	insertSecret = `
		INSERT INTO api_key_secrets (hash, key_id, version, state, kek_id, sealed_key, nonce, ciphertext, created_at)
		VALUES ($1, $2, (SELECT COALESCE(max(version), 0) + 1 FROM api_key_secrets WHERE key_id = $2), 'active',
			$3, $4, $5, $6, $7)`

	selectSecret = `
		SELECT hash, '' AS hint, kek_id, sealed_key, nonce, ciphertext, created_at FROM api_key_secrets
		WHERE key_id = $1 AND state = 'active' ORDER BY version DESC LIMIT 1`

	selectHashesOfKey = `SELECT hash FROM api_key_secrets WHERE key_id = $1 AND state = 'active' ORDER BY version`

	selectHashesOfApp = `
		SELECT s.hash FROM api_key_secrets AS s JOIN api_keys AS k ON k.id = s.key_id
		WHERE k.app_id = $1 AND s.state = 'active' ORDER BY s.key_id, s.version`

	eraseSecrets = `
		UPDATE api_key_secrets SET state = 'revoked', sealed_key = $2, nonce = $2, ciphertext = $2
		WHERE key_id = $1 AND state = 'active'`

	insertKeyRead = `INSERT INTO key_reads (id, key_id, developer_id, at) VALUES ($1, $2, $3, $4)`

	deleteOldKeyReads = `DELETE FROM key_reads WHERE at < $1`

	grants = `
		SELECT s.hash, k.id AS key_id, k.developer_id, k.kind, k.scopes, k.expires_at, s.not_after, d.plan, d.per_minute,
			d.per_day, k.app_id, a.families, a.tasks, a.rate_limit, a.active, a.expires_at AS app_expires_at
		FROM api_keys AS k
		JOIN api_key_secrets AS s ON s.key_id = k.id AND s.state = 'active'
		JOIN developers AS d ON d.id = k.developer_id
		LEFT JOIN apps AS a ON a.id = k.app_id
		WHERE k.revoked_at IS NULL`

	selectGrantsOfKey       = grants + ` AND k.id = $1 ORDER BY k.id, s.version`
	selectGrantsOfApp       = grants + ` AND k.app_id = $1 ORDER BY k.id, s.version`
	selectGrantsOfDeveloper = grants + ` AND k.developer_id = $1 ORDER BY k.id, s.version`
)

func appStatements() map[string]string {
	return map[string]string{
		"countApps":               countApps,
		"insertApp":               insertApp,
		"selectApps":              selectApps,
		"selectApp":               selectApp,
		"updateApp":               updateApp,
		"deleteApp":               deleteApp,
		"countKeys":               countKeys,
		"countTokens":             countTokens,
		"insertKey":               insertKey,
		"selectKeys":              selectKeys,
		"selectKey":               selectKey,
		"selectTokens":            selectTokens,
		"selectToken":             selectToken,
		"updateKeyHint":           updateKeyHint,
		"revokeKey":               revokeKey,
		"insertSecret":            insertSecret,
		"selectSecret":            selectSecret,
		"selectHashesOfKey":       selectHashesOfKey,
		"selectHashesOfApp":       selectHashesOfApp,
		"eraseSecrets":            eraseSecrets,
		"insertKeyRead":           insertKeyRead,
		"deleteOldKeyReads":       deleteOldKeyReads,
		"grants":                  grants,
		"selectGrantsOfKey":       selectGrantsOfKey,
		"selectGrantsOfApp":       selectGrantsOfApp,
		"selectGrantsOfDeveloper": selectGrantsOfDeveloper,
	}
}
