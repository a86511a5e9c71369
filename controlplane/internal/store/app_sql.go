package store

//nolint:gosec // SQL about secrets, no secrets
const (
	appColumns = `a.id, a.developer_id, a.name, a.description, a.environment, a.families, a.tasks, a.rate_limit, a.active,
		a.expires_at, a.created_at, a.updated_at, a.org_id`

	keyColumns = `id, developer_id, app_id, kind, hint, name, scopes, metadata, expires_at, created_at, last_used_at,
		revoked_at, revoked_version, (SELECT a.org_id FROM apps AS a WHERE a.id = api_keys.app_id) AS org_id,
		(SELECT max(not_after) FROM api_key_secrets WHERE key_id = api_keys.id AND state = 'active') AS previous_until`

	countApps = `SELECT count(*) FROM apps WHERE developer_id = $1 AND org_id IS NULL`

	countAppsOfOrg = `SELECT count(*) FROM apps WHERE org_id = $1`

	insertApp = `
		INSERT INTO apps (id, developer_id, name, description, environment, families, tasks, rate_limit, active, expires_at,
			created_at, updated_at, org_id)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`

	// Two branches, so that each has its index.
	selectApps = `
		SELECT ` + appColumns + `, '' AS role FROM apps AS a WHERE a.developer_id = $1 AND a.org_id IS NULL
		UNION ALL
		SELECT ` + appColumns + `, m.role FROM org_members AS m JOIN apps AS a ON a.org_id = m.org_id
		WHERE m.developer_id = $1 AND m.role = ANY ($3::TEXT[])
		ORDER BY created_at DESC, id LIMIT $2`

	selectApp = `
		SELECT ` + appColumns + `, COALESCE(m.role, '') AS role
		FROM apps AS a LEFT JOIN org_members AS m ON m.org_id = a.org_id AND m.developer_id = $2
		WHERE a.id = $1 AND (a.org_id IS NULL AND a.developer_id = $2 OR m.role IS NOT NULL)`

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
		WHERE app_id = $1 ORDER BY created_at DESC, id LIMIT $2`

	selectKey = `SELECT ` + keyColumns + ` FROM api_keys WHERE id = $1 AND app_id = $2`

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

	selectOldestKey = `
		SELECT k.id AS key_id, k.app_id, s.hash,
			COALESCE((SELECT r.rev FROM config_records AS r WHERE r.kind = 'key' AND r.id = encode(s.hash, 'hex')), 0) AS version
		FROM api_keys AS k
		JOIN api_key_secrets AS s ON s.key_id = k.id AND s.state = 'active'
		JOIN apps AS a ON a.id = k.app_id
		WHERE k.revoked_at IS NULL AND a.active AND a.suspended_at IS NULL
			AND ($3::UUID IS NULL OR k.app_id = $3) AND ($4::UUID IS NULL OR k.id = $4)
			AND (a.org_id IS NULL AND a.developer_id = $1
				OR ($3::UUID IS NOT NULL OR $4::UUID IS NOT NULL) AND a.org_id IN (
					SELECT m.org_id FROM org_members AS m WHERE m.developer_id = $1 AND m.role = ANY ($5::TEXT[])))
			AND (k.expires_at IS NULL OR k.expires_at > $2)
			AND (s.not_after IS NULL OR s.not_after > $2) AND (a.expires_at IS NULL OR a.expires_at > $2)
		ORDER BY k.created_at, k.id, s.version DESC LIMIT 1`

	selectKeyToUse = `
		SELECT ` + keyColumns + ` FROM api_keys
		WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $4)
			AND ($2::UUID IS NULL OR app_id = $2) AND ($3::UUID IS NULL OR id = $3)
			AND (kind = 'test' OR $2::UUID IS NOT NULL OR $3::UUID IS NOT NULL)
			AND app_id IN (
				SELECT a.id FROM apps AS a WHERE a.active AND a.suspended_at IS NULL AND (a.expires_at IS NULL OR a.expires_at > $4) AND (
					a.org_id IS NULL AND a.developer_id = $1
					OR ($2::UUID IS NOT NULL OR $3::UUID IS NOT NULL) AND a.org_id IN (
						SELECT m.org_id FROM org_members AS m WHERE m.developer_id = $1 AND m.role = ANY ($5::TEXT[]))))
		ORDER BY created_at, id LIMIT 1`

	// The version is read with the terms: what changed them later has a later one.
	selectSessionTerms = `
		SELECT d.id AS account_id, d.plan, d.per_minute, d.per_day, d.in_flight, d.tokens_per_minute AS tokens, r.rev
		FROM developers AS d CROSS JOIN config_rev AS r WHERE d.id = $1 AND r.id = 1`

	selectHashesOfKey = `SELECT hash FROM api_key_secrets WHERE key_id = $1 AND state = 'active' ORDER BY version`

	selectHashesOfApp = `
		SELECT s.hash FROM api_key_secrets AS s JOIN api_keys AS k ON k.id = s.key_id
		WHERE k.app_id = $1 AND s.state = 'active' ORDER BY s.key_id, s.version`

	eraseSecrets = `
		UPDATE api_key_secrets SET state = 'revoked', sealed_key = $2, nonce = $2, ciphertext = $2
		WHERE key_id = $1 AND state = 'active'`

	insertKeyRead = `INSERT INTO key_reads (id, key_id, developer_id, at) VALUES ($1, $2, $3, $4)`

	deleteOldKeyReads = `
		DELETE FROM key_reads WHERE id IN (
			SELECT id FROM key_reads WHERE at < $1 ORDER BY at LIMIT $2)`

	grants = `
		SELECT s.hash, k.id AS key_id, k.developer_id, k.kind, k.scopes, k.expires_at, s.not_after, COALESCE(o.plan, d.plan) AS plan,
			CASE WHEN o.id IS NULL THEN d.per_minute ELSE o.per_minute END AS per_minute,
			CASE WHEN o.id IS NULL THEN d.per_day ELSE o.per_day END AS per_day,
			CASE WHEN o.id IS NULL THEN d.in_flight ELSE o.in_flight END AS in_flight,
			CASE WHEN o.id IS NULL THEN d.tokens_per_minute ELSE o.tokens_per_minute END AS tokens, a.org_id, k.app_id, a.families, a.tasks, a.rate_limit, a.active AND a.suspended_at IS NULL AS active,
			a.expires_at AS app_expires_at
		FROM api_keys AS k
		JOIN api_key_secrets AS s ON s.key_id = k.id AND s.state = 'active'
		JOIN developers AS d ON d.id = k.developer_id
		LEFT JOIN apps AS a ON a.id = k.app_id
		LEFT JOIN organizations AS o ON o.id = a.org_id
		WHERE k.revoked_at IS NULL`

	selectGrantsOfKey       = grants + ` AND k.id = $1 ORDER BY k.id, s.version`
	selectGrantsOfApp       = grants + ` AND k.app_id = $1 ORDER BY k.id, s.version`
	selectGrantsOfOrg       = grants + ` AND a.org_id = $1 ORDER BY k.id, s.version`
	selectGrantsOfDeveloper = grants + ` AND k.developer_id = $1 ORDER BY k.id, s.version`
)

func appStatements() map[string]string {
	return map[string]string{
		"countApps":               countApps,
		"countAppsOfOrg":          countAppsOfOrg,
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
		"selectOldestKey":         selectOldestKey,
		"selectKeyToUse":          selectKeyToUse,
		"selectSessionTerms":      selectSessionTerms,
		"selectHashesOfKey":       selectHashesOfKey,
		"selectHashesOfApp":       selectHashesOfApp,
		"eraseSecrets":            eraseSecrets,
		"insertKeyRead":           insertKeyRead,
		"deleteOldKeyReads":       deleteOldKeyReads,
		"grants":                  grants,
		"selectGrantsOfKey":       selectGrantsOfKey,
		"selectGrantsOfApp":       selectGrantsOfApp,
		"selectGrantsOfOrg":       selectGrantsOfOrg,
		"selectGrantsOfDeveloper": selectGrantsOfDeveloper,
	}
}
