package store

const (
	totpColumns = `kek_id, sealed_key, nonce, ciphertext, confirmed_at`

	deleteTOTP = `DELETE FROM account_totp WHERE developer_id = $1`

	insertTOTP = `
		INSERT INTO account_totp (developer_id, kek_id, sealed_key, nonce, ciphertext, last_step, created_at)
		VALUES ($1, $2, $3, $4, $5, 0, $6)`

	selectTOTP = `
		SELECT ` + totpColumns + `,
			(SELECT count(*) FROM account_recovery_codes AS r WHERE r.developer_id = t.developer_id) AS recovery_left
		FROM account_totp AS t WHERE developer_id = $1`

	confirmTOTP = `
		UPDATE account_totp SET confirmed_at = $2, last_step = $3
		WHERE developer_id = $1 AND confirmed_at IS NULL AND last_step < $3`

	useTOTPStep = `
		UPDATE account_totp SET last_step = $2 WHERE developer_id = $1 AND confirmed_at IS NOT NULL AND last_step < $2`

	insertRecoveryCode = `INSERT INTO account_recovery_codes (developer_id, hash) VALUES ($1, $2)`

	useRecoveryCode = `DELETE FROM account_recovery_codes WHERE developer_id = $1 AND hash = $2`

	deleteRecoveryCodes = `DELETE FROM account_recovery_codes WHERE developer_id = $1`
)

func totpStatements() map[string]string {
	return map[string]string{
		"deleteTOTP":          deleteTOTP,
		"insertTOTP":          insertTOTP,
		"selectTOTP":          selectTOTP,
		"confirmTOTP":         confirmTOTP,
		"useTOTPStep":         useTOTPStep,
		"insertRecoveryCode":  insertRecoveryCode,
		"useRecoveryCode":     useRecoveryCode,
		"deleteRecoveryCodes": deleteRecoveryCodes,
	}
}
