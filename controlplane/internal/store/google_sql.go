package store

const (
	selectDeveloperByGoogle = `SELECT ` + developerColumns + ` FROM developers WHERE google_sub = $1`

	selectGoogleOfEmail = `SELECT ` + developerColumns + `, google_sub FROM developers WHERE email = $1`

	linkGoogle = `UPDATE developers SET google_sub = $2 WHERE id = $1`
)

func googleStatements() map[string]string {
	return map[string]string{
		"selectDeveloperByGoogle": selectDeveloperByGoogle,
		"selectGoogleOfEmail":     selectGoogleOfEmail,
		"linkGoogle":              linkGoogle,
	}
}
