package store

const (
	developerColumns = `id, name, email, plan, per_minute, per_day, verified_at, created_at`

	insertDeveloper = `
		INSERT INTO developers (id, name, email, password_hash, plan, per_minute, per_day, verified_at, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`

	selectCredentialsByEmail = `SELECT ` + developerColumns + `, password_hash FROM developers WHERE email = $1`

	selectDeveloper = `SELECT ` + developerColumns + ` FROM developers WHERE id = $1`

	selectDeveloperByEmail = `SELECT ` + developerColumns + ` FROM developers WHERE email = $1`

	updatePasswordHash = `UPDATE developers SET password_hash = $2 WHERE id = $1`

	updateTerms = `UPDATE developers SET plan = $2, per_minute = $3, per_day = $4, verified_at = $5 WHERE id = $1`

	insertSession = `INSERT INTO sessions (id, developer_id, created_at, expires_at) VALUES ($1, $2, $3, $4)`

	selectSession = `SELECT id, developer_id, created_at, expires_at FROM sessions WHERE id = $1`

	deleteOldSessions = `
		DELETE FROM sessions
		WHERE developer_id = $1 AND id NOT IN (
			SELECT id FROM sessions WHERE developer_id = $1 ORDER BY created_at DESC, id LIMIT $2)`

	deleteExpiredSessions = `DELETE FROM sessions WHERE expires_at < $1`
)

func accountStatements() map[string]string {
	return map[string]string{
		"insertDeveloper":          insertDeveloper,
		"selectCredentialsByEmail": selectCredentialsByEmail,
		"selectDeveloper":          selectDeveloper,
		"selectDeveloperByEmail":   selectDeveloperByEmail,
		"updatePasswordHash":       updatePasswordHash,
		"updateTerms":              updateTerms,
		"insertSession":            insertSession,
		"selectSession":            selectSession,
		"deleteOldSessions":        deleteOldSessions,
		"deleteExpiredSessions":    deleteExpiredSessions,
	}
}
