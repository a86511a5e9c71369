package store

const (
	deletionColumns = `requested_at, delete_at`

	insertDeletion = `
		INSERT INTO account_deletions (developer_id, ` + deletionColumns + `) VALUES ($1, $2, $3) ON CONFLICT (developer_id) DO NOTHING`

	selectDeletion = `SELECT ` + deletionColumns + ` FROM account_deletions WHERE developer_id = $1`

	cancelDeletion = `DELETE FROM account_deletions WHERE developer_id = $1 AND delete_at > $2`

	selectDueDeletions = `SELECT developer_id FROM account_deletions WHERE delete_at <= $1 ORDER BY delete_at LIMIT $2`

	selectDeveloperToRemove = `
		SELECT d.id, d.email, (
			SELECT a.id FROM apps AS a WHERE a.developer_id = d.id AND a.org_id IS NULL ORDER BY a.id LIMIT 1) AS app_id
		FROM account_deletions AS x JOIN developers AS d ON d.id = x.developer_id
		WHERE x.developer_id = $1 AND x.delete_at <= $2`

	selectHashesOfDeveloper = `
		SELECT s.hash FROM api_key_secrets AS s JOIN api_keys AS k ON k.id = s.key_id
		WHERE k.developer_id = $1 AND s.state = 'active' ORDER BY s.key_id, s.version`

	deleteMailTo = `DELETE FROM mail_outbox WHERE recipient = $1`

	deleteAuditRecords = `DELETE FROM audit_records WHERE chain = $1`
	deleteAuditHead    = `DELETE FROM audit_chains WHERE chain = $1`

	deleteDeveloper = `DELETE FROM developers WHERE id = $1`
)

func removalStatements() map[string]string {
	return map[string]string{
		"insertDeletion":          insertDeletion,
		"selectDeletion":          selectDeletion,
		"cancelDeletion":          cancelDeletion,
		"selectDueDeletions":      selectDueDeletions,
		"selectDeveloperToRemove": selectDeveloperToRemove,
		"selectHashesOfDeveloper": selectHashesOfDeveloper,
		"deleteMailTo":            deleteMailTo,
		"deleteAuditRecords":      deleteAuditRecords,
		"deleteAuditHead":         deleteAuditHead,
		"deleteDeveloper":         deleteDeveloper,
	}
}
