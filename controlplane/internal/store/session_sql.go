package store

const (
	sessionColumns = `id, developer_id, address, user_agent, created_at, used_at, expires_at`

	insertSession = `
		INSERT INTO sessions (id, developer_id, address, user_agent, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6)`

	selectSession = `SELECT ` + sessionColumns + ` FROM sessions WHERE id = $1`

	selectSessions = `
		SELECT ` + sessionColumns + ` FROM sessions WHERE developer_id = $1 AND expires_at > $2
		ORDER BY created_at DESC, id LIMIT $3`

	extendSession = `UPDATE sessions SET used_at = $2, expires_at = $3 WHERE id = $1`

	deleteSession = `DELETE FROM sessions WHERE id = $1 AND developer_id = $2`

	deleteOtherSessions = `DELETE FROM sessions WHERE developer_id = $1 AND id <> $2`

	deleteAllSessions = `DELETE FROM sessions WHERE developer_id = $1`

	deleteOldSessions = `
		DELETE FROM sessions
		WHERE developer_id = $1 AND id NOT IN (
			SELECT id FROM sessions WHERE developer_id = $1 ORDER BY created_at DESC, id LIMIT $2)`

	deleteExpiredSessions = `
		DELETE FROM sessions WHERE id IN (
			SELECT id FROM sessions WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)`

	insertRefresh = `INSERT INTO session_refreshes (hash, session_id, created_at) VALUES ($1, $2, $3)`

	selectRefresh = `SELECT session_id, used_at FROM session_refreshes WHERE hash = $1 FOR UPDATE`

	useRefresh = `UPDATE session_refreshes SET used_at = $2 WHERE hash = $1`

	deleteOldRefreshes = `
		DELETE FROM session_refreshes WHERE hash IN (
			SELECT hash FROM session_refreshes WHERE used_at IS NOT NULL AND used_at < $1 ORDER BY used_at LIMIT $2)`
)

func sessionStatements() map[string]string {
	return map[string]string{
		"insertSession":         insertSession,
		"selectSession":         selectSession,
		"selectSessions":        selectSessions,
		"extendSession":         extendSession,
		"deleteSession":         deleteSession,
		"deleteOtherSessions":   deleteOtherSessions,
		"deleteAllSessions":     deleteAllSessions,
		"deleteOldSessions":     deleteOldSessions,
		"deleteExpiredSessions": deleteExpiredSessions,
		"insertRefresh":         insertRefresh,
		"selectRefresh":         selectRefresh,
		"useRefresh":            useRefresh,
		"deleteOldRefreshes":    deleteOldRefreshes,
	}
}
