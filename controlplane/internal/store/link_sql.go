package store

const (
	insertLink = `INSERT INTO account_links (hash, kind, developer_id, created_at, expires_at) VALUES ($1, $2, $3, $4, $5)`

	deleteLinksOfKind = `DELETE FROM account_links WHERE developer_id = $1 AND kind = $2`

	selectLinkOwner = `
		SELECT d.id, d.name, d.email, d.plan, d.per_minute, d.per_day, d.in_flight, d.tokens_per_minute AS tokens, d.verified_at, d.created_at,
			(SELECT m.org_id FROM org_members AS m WHERE m.developer_id = d.id) AS org_id
		FROM account_links AS l JOIN developers AS d ON d.id = l.developer_id
		WHERE l.hash = $1 AND l.kind = $2 AND l.expires_at > $3`

	useLink = `DELETE FROM account_links WHERE hash = $1 AND kind = $2 AND expires_at > $3 RETURNING developer_id`

	verifyDeveloper = `UPDATE developers SET verified_at = $2 WHERE id = $1 AND verified_at IS NULL`

	deleteExpiredLinks = `
		DELETE FROM account_links WHERE hash IN (
			SELECT hash FROM account_links WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)`
)

func linkStatements() map[string]string {
	return map[string]string{
		"insertLink":         insertLink,
		"deleteLinksOfKind":  deleteLinksOfKind,
		"selectLinkOwner":    selectLinkOwner,
		"useLink":            useLink,
		"verifyDeveloper":    verifyDeveloper,
		"deleteExpiredLinks": deleteExpiredLinks,
	}
}
