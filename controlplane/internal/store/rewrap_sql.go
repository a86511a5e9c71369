package store

const (
	selectKeysElsewhere = `
		SELECT s.hash, s.key_id, COALESCE(a.org_id, k.developer_id) AS account_id, s.kek_id, s.sealed_key
		FROM api_key_secrets AS s JOIN api_keys AS k ON k.id = s.key_id LEFT JOIN apps AS a ON a.id = k.app_id
		WHERE s.hash > $1 AND s.kek_id <> $2 AND length(s.sealed_key) > 0 ORDER BY s.hash LIMIT $3`

	selectFactorsElsewhere = `
		SELECT developer_id AS id, '' AS recipient, kek_id, sealed_key FROM account_totp
		WHERE developer_id > $1 AND kek_id <> $2 AND length(sealed_key) > 0 ORDER BY developer_id LIMIT $3`

	selectMailsElsewhere = `
		SELECT id, recipient, kek_id, sealed_key FROM mail_outbox
		WHERE id > $1 AND kek_id <> $2 AND length(sealed_key) > 0 ORDER BY id LIMIT $3`

	selectReplaysElsewhere = `
		SELECT claim_id AS id, '' AS recipient, kek_id, sealed_key FROM call_replays
		WHERE claim_id > $1 AND kek_id <> $2 AND length(sealed_key) > 0 ORDER BY claim_id LIMIT $3`

	selectWebhooksElsewhere = `
		SELECT account_id AS id, '' AS recipient, kek_id, sealed_key FROM usage_alerts
		WHERE account_id > $1 AND kek_id <> $2 AND length(sealed_key) > 0 ORDER BY account_id LIMIT $3`

	moveWebhook = `UPDATE usage_alerts SET kek_id = $3, sealed_key = $4 WHERE account_id = $1 AND sealed_key = $2`

	moveKey    = `UPDATE api_key_secrets SET kek_id = $3, sealed_key = $4 WHERE hash = $1 AND sealed_key = $2`
	moveFactor = `UPDATE account_totp SET kek_id = $3, sealed_key = $4 WHERE developer_id = $1 AND sealed_key = $2`
	moveMail   = `UPDATE mail_outbox SET kek_id = $3, sealed_key = $4 WHERE id = $1 AND sealed_key = $2`
	moveReplay = `UPDATE call_replays SET kek_id = $3, sealed_key = $4 WHERE claim_id = $1 AND sealed_key = $2`

	countSealed = `
		SELECT 'api keys' AS kind, kek_id, count(*) AS n FROM api_key_secrets WHERE length(sealed_key) > 0 GROUP BY kek_id
		UNION ALL
		SELECT 'second factors', kek_id, count(*) FROM account_totp WHERE length(sealed_key) > 0 GROUP BY kek_id
		UNION ALL
		SELECT 'mails', kek_id, count(*) FROM mail_outbox WHERE length(sealed_key) > 0 GROUP BY kek_id
		UNION ALL
		SELECT 'replays', kek_id, count(*) FROM call_replays WHERE length(sealed_key) > 0 GROUP BY kek_id
		UNION ALL
		SELECT 'webhook secrets', kek_id, count(*) FROM usage_alerts WHERE length(sealed_key) > 0 GROUP BY kek_id
		ORDER BY kind, kek_id`
)

func rewrapStatements() map[string]string {
	return map[string]string{
		"selectKeysElsewhere":     selectKeysElsewhere,
		"selectFactorsElsewhere":  selectFactorsElsewhere,
		"selectMailsElsewhere":    selectMailsElsewhere,
		"moveKey":                 moveKey,
		"moveFactor":              moveFactor,
		"moveMail":                moveMail,
		"selectReplaysElsewhere":  selectReplaysElsewhere,
		"selectWebhooksElsewhere": selectWebhooksElsewhere,
		"moveWebhook":             moveWebhook,
		"moveReplay":              moveReplay,
		"countSealed":             countSealed,
	}
}
