package store

const (
	developerColumns = `id, name, email, plan, per_minute, per_day, in_flight, tokens_per_minute AS tokens, verified_at, created_at,
		(SELECT m.org_id FROM org_members AS m WHERE m.developer_id = developers.id) AS org_id`

	insertDeveloper = `
		INSERT INTO developers (id, name, email, password_hash, plan, per_minute, per_day, verified_at, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`

	selectCredentialsByEmail = `SELECT ` + developerColumns + `, password_hash FROM developers WHERE email = $1`

	selectDeveloper = `SELECT ` + developerColumns + ` FROM developers WHERE id = $1`

	selectDeveloperByEmail = `SELECT ` + developerColumns + ` FROM developers WHERE email = $1`

	updatePasswordHash = `UPDATE developers SET password_hash = $2 WHERE id = $1`

	updateTerms = `UPDATE developers SET plan = $2, per_minute = $3, per_day = $4, verified_at = $5, in_flight = $6, tokens_per_minute = $7 WHERE id = $1`
)

func accountStatements() map[string]string {
	return map[string]string{
		"insertDeveloper":          insertDeveloper,
		"selectCredentialsByEmail": selectCredentialsByEmail,
		"selectDeveloper":          selectDeveloper,
		"selectDeveloperByEmail":   selectDeveloperByEmail,
		"updatePasswordHash":       updatePasswordHash,
		"updateTerms":              updateTerms,
	}
}
