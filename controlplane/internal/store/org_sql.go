package store

const (
	inviteColumns = `i.id, i.org_id, o.name AS org_name, i.email, i.role, i.status, i.inviter, i.created_at, i.expires_at`

	insertOrg = `INSERT INTO organizations (id, name, plan, created_at, sponsor_id) VALUES ($1, $2, $3, $4, $5)`

	insertMember = `INSERT INTO org_members (developer_id, org_id, role, joined_at) VALUES ($1, $2, $3, $4)`

	selectMembership = `
		SELECT o.id, o.name, o.plan, o.per_minute, o.per_day, o.in_flight, o.tokens_per_minute AS tokens, o.created_at, m.role
		FROM org_members AS m JOIN organizations AS o ON o.id = m.org_id WHERE m.developer_id = $1`

	selectMembers = `
		SELECT m.developer_id, d.name, d.email, m.role, m.joined_at
		FROM org_members AS m JOIN developers AS d ON d.id = m.developer_id
		WHERE m.org_id = $1 ORDER BY m.joined_at, m.developer_id LIMIT $2`

	selectMember = `
		SELECT m.developer_id, d.name, d.email, m.role, m.joined_at
		FROM org_members AS m JOIN developers AS d ON d.id = m.developer_id
		WHERE m.org_id = $1 AND m.developer_id = $2`

	countMembers = `SELECT count(*) FROM org_members WHERE org_id = $1`

	countOwners = `SELECT count(*) FROM org_members WHERE org_id = $1 AND role = 'owner'`

	countMembersByEmail = `
		SELECT count(*) FROM org_members AS m JOIN developers AS d ON d.id = m.developer_id WHERE m.org_id = $1 AND d.email = $2`

	renameOrg = `UPDATE organizations SET name = $2 WHERE id = $1`

	updateOrgTerms = `UPDATE organizations SET per_minute = $2, per_day = $3, in_flight = $4, tokens_per_minute = $5 WHERE id = $1`

	updateRole = `UPDATE org_members SET role = $2 WHERE developer_id = $1`

	deleteMember = `DELETE FROM org_members WHERE developer_id = $1`

	selectHeir = `
		SELECT developer_id FROM org_members
		WHERE org_id = $1 AND role = 'owner' AND developer_id <> $2 ORDER BY joined_at, developer_id LIMIT 1`

	inheritKeys = `
		UPDATE api_keys SET developer_id = $3
		WHERE developer_id = $2 AND app_id IN (SELECT id FROM apps WHERE org_id = $1)`

	inheritApps = `UPDATE apps SET developer_id = $3 WHERE developer_id = $2 AND org_id = $1`

	searchDevelopers = `
		SELECT d.id AS developer_id, d.name, d.email, COALESCE(m.org_id = $1, FALSE) AS colleague
		FROM developers AS d LEFT JOIN org_members AS m ON m.developer_id = d.id
		WHERE strpos(d.email, $2) > 0 ORDER BY d.email LIMIT $3`

	insertInvite = `
		INSERT INTO org_invites (id, org_id, email, role, status, inviter, created_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`

	selectInvites = `
		SELECT ` + inviteColumns + ` FROM org_invites AS i JOIN organizations AS o ON o.id = i.org_id
		WHERE i.org_id = $1 ORDER BY i.created_at DESC, i.id LIMIT $2`

	selectInvite = `
		SELECT ` + inviteColumns + ` FROM org_invites AS i JOIN organizations AS o ON o.id = i.org_id WHERE i.id = $1`

	countPendingInvites = `SELECT count(*) FROM org_invites WHERE org_id = $1 AND status = 'pending' AND expires_at > $2`

	countPendingInvitesOf = `
		SELECT count(*) FROM org_invites WHERE org_id = $1 AND status = 'pending' AND expires_at > $2 AND email = $3`

	renewInvite = `UPDATE org_invites SET expires_at = $2 WHERE id = $1`

	closeInvite = `UPDATE org_invites SET status = $2 WHERE id = $1 AND status = 'pending'`
)

func orgStatements() map[string]string {
	return map[string]string{
		"insertOrg":             insertOrg,
		"insertMember":          insertMember,
		"selectMembership":      selectMembership,
		"updateOrgTerms":        updateOrgTerms,
		"selectMembers":         selectMembers,
		"selectMember":          selectMember,
		"countMembers":          countMembers,
		"countOwners":           countOwners,
		"countMembersByEmail":   countMembersByEmail,
		"renameOrg":             renameOrg,
		"updateRole":            updateRole,
		"deleteMember":          deleteMember,
		"selectHeir":            selectHeir,
		"inheritKeys":           inheritKeys,
		"inheritApps":           inheritApps,
		"searchDevelopers":      searchDevelopers,
		"insertInvite":          insertInvite,
		"selectInvites":         selectInvites,
		"selectInvite":          selectInvite,
		"countPendingInvites":   countPendingInvites,
		"countPendingInvitesOf": countPendingInvitesOf,
		"renewInvite":           renewInvite,
		"closeInvite":           closeInvite,
	}
}
