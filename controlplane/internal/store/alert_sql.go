package store

const (
	alertColumns = `s.account_id, s.org_id IS NOT NULL AS organization, s.thresholds, s.mail, s.webhook_url, s.kek_id, s.sealed_key, s.nonce, s.ciphertext`

	deliveryColumns = `id, account_id, day, threshold, body, state, reason, attempts, created_at`

	selectAlerts = `SELECT ` + alertColumns + ` FROM usage_alerts AS s WHERE s.account_id = $1`

	upsertAlerts = `
		INSERT INTO usage_alerts (account_id, developer_id, org_id, thresholds, mail, webhook_url, kek_id, sealed_key, nonce, ciphertext, told)
		SELECT $1::UUID, (SELECT id FROM developers WHERE id = $1), (SELECT id FROM organizations WHERE id = $1), $2::INT8[], $3::BOOL,
			$4::TEXT, '', $5::BYTEA, $5, $5, 0
		ON CONFLICT (account_id) DO UPDATE SET thresholds = excluded.thresholds, mail = excluded.mail, webhook_url = excluded.webhook_url`

	updateAlertSealed = `
		UPDATE usage_alerts SET kek_id = $2, sealed_key = $3, nonce = $4, ciphertext = $5 WHERE account_id = $1 AND webhook_url <> ''`

	selectAlertUsage = `
		SELECT ` + alertColumns + `, COALESCE(o.name, d.name) AS name, COALESCE(o.plan, d.plan) AS plan,
			CASE WHEN o.id IS NULL THEN d.per_day ELSE o.per_day END AS per_day, u.calls,
			CASE WHEN s.told_day = u.day THEN s.told ELSE 0 END AS told
		FROM usage_alerts AS s JOIN usage_account_day AS u ON u.account_id = s.account_id
		LEFT JOIN developers AS d ON d.id = s.developer_id LEFT JOIN organizations AS o ON o.id = s.org_id
		WHERE u.day = $1::DATE AND s.account_id > $2::UUID AND (s.mail OR s.webhook_url <> '')
		ORDER BY s.account_id LIMIT $3`

	selectAlertReaders = `
		SELECT d.email FROM developers AS d WHERE d.id = $1 AND d.verified_at IS NOT NULL
		UNION
		SELECT d.email FROM org_members AS m JOIN developers AS d ON d.id = m.developer_id
		WHERE m.org_id = $1 AND m.role = ANY($2) AND d.verified_at IS NOT NULL ORDER BY email`

	markAlertTold = `
		UPDATE usage_alerts SET told_day = $2::DATE, told = $3
		WHERE account_id = $1 AND (told_day IS NULL OR told_day < $2::DATE OR told_day = $2::DATE AND told < $3)`

	insertDelivery = `
		INSERT INTO usage_alert_deliveries (` + deliveryColumns + `, next_at) VALUES ($1, $2, $3::DATE, $4, $5, $6, $7, $8, $9, $9)`

	countTests = `SELECT count(*) FROM usage_alert_deliveries WHERE account_id = $1 AND threshold = 0 AND created_at > $2`

	selectDeliveries = `
		SELECT ` + deliveryColumns + ` FROM usage_alert_deliveries WHERE account_id = $1 ORDER BY created_at DESC, id LIMIT $2`

	claimDeliveries = `
		UPDATE usage_alert_deliveries SET attempts = attempts + 1, next_at = $2
		WHERE id IN (
			SELECT id FROM usage_alert_deliveries WHERE state = 'waiting' AND next_at <= $1 ORDER BY next_at LIMIT $3 FOR UPDATE SKIP LOCKED)
		RETURNING ` + deliveryColumns

	settleDelivery = `UPDATE usage_alert_deliveries SET state = $2, reason = $3, next_at = $4 WHERE id = $1`

	deleteOldDeliveries = `
		DELETE FROM usage_alert_deliveries WHERE id IN (
			SELECT id FROM usage_alert_deliveries WHERE state <> 'waiting' AND next_at < $1 ORDER BY next_at LIMIT $2)`
)

func alertStatements() map[string]string {
	return map[string]string{
		"selectAlerts":        selectAlerts,
		"upsertAlerts":        upsertAlerts,
		"updateAlertSealed":   updateAlertSealed,
		"selectAlertUsage":    selectAlertUsage,
		"selectAlertReaders":  selectAlertReaders,
		"markAlertTold":       markAlertTold,
		"insertDelivery":      insertDelivery,
		"countTests":          countTests,
		"selectDeliveries":    selectDeliveries,
		"claimDeliveries":     claimDeliveries,
		"settleDelivery":      settleDelivery,
		"deleteOldDeliveries": deleteOldDeliveries,
	}
}
