package store

const (
	letterColumns = `id, recipient, template, kek_id, sealed_key, nonce, ciphertext, attempts, created_at, expires_at`

	insertMail = `
		INSERT INTO mail_outbox (` + letterColumns + `, reason, next_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, '', $9)`

	claimMail = `
		UPDATE mail_outbox SET attempts = attempts + 1, next_at = $2
		WHERE id IN (
			SELECT id FROM mail_outbox WHERE dead_at IS NULL AND next_at <= $1 ORDER BY next_at LIMIT $3 FOR UPDATE SKIP LOCKED)
		RETURNING ` + letterColumns

	deleteMail = `DELETE FROM mail_outbox WHERE id = $1`

	postponeMail = `UPDATE mail_outbox SET reason = $2, next_at = $3 WHERE id = $1`

	buryMail = `
		UPDATE mail_outbox SET reason = $2, dead_at = $3, sealed_key = $4, nonce = $4, ciphertext = $4 WHERE id = $1`

	countMail = `
		SELECT count(*) FILTER (WHERE dead_at IS NULL) AS waiting, count(*) FILTER (WHERE dead_at IS NOT NULL) AS dead
		FROM mail_outbox`

	selectDeadMail = `
		SELECT id, recipient, template, attempts, reason, created_at, dead_at FROM mail_outbox
		WHERE dead_at IS NOT NULL ORDER BY dead_at DESC LIMIT $1`

	deleteOldMail = `
		DELETE FROM mail_outbox WHERE id IN (
			SELECT id FROM mail_outbox WHERE dead_at IS NOT NULL AND dead_at < $1 ORDER BY dead_at LIMIT $2)`
)

func mailStatements() map[string]string {
	return map[string]string{
		"insertMail":     insertMail,
		"claimMail":      claimMail,
		"deleteMail":     deleteMail,
		"postponeMail":   postponeMail,
		"buryMail":       buryMail,
		"countMail":      countMail,
		"selectDeadMail": selectDeadMail,
		"deleteOldMail":  deleteOldMail,
	}
}
