package store

const (
	joinNode = `
		INSERT INTO nodes (id, name, secret_hash, build, joined_at, last_seen_at)
		VALUES ($1, $2, $3, $4, $5, $5)
		ON CONFLICT (name) DO UPDATE
		SET secret_hash = excluded.secret_hash, build = excluded.build, joined_at = excluded.joined_at,
			last_seen_at = excluded.last_seen_at, acked_epoch = NULL, acked_version = NULL, acked_at = NULL,
			keys_held = NULL, forgotten_at = NULL
		WHERE nodes.last_seen_at < $6 OR nodes.forgotten_at IS NOT NULL
		RETURNING id`

	nodeColumns = `id, name, build, joined_at, last_seen_at, acked_epoch, acked_version, acked_at, keys_held, forgotten_at`

	selectNodeBySecret = `SELECT ` + nodeColumns + ` FROM nodes WHERE secret_hash = $1 AND forgotten_at IS NULL`

	selectNodes = `SELECT ` + nodeColumns + ` FROM nodes ORDER BY name`

	markNodeSeen = `UPDATE nodes SET last_seen_at = $2 WHERE id = $1 AND last_seen_at < $2`

	ackNode = `
		UPDATE nodes
		SET acked_epoch = $2, acked_version = $3, acked_at = $4, keys_held = $5, build = $6
		WHERE id = $1`

	forgetNode = `UPDATE nodes SET forgotten_at = $2 WHERE name = $1`
)

func nodeStatements() map[string]string {
	return map[string]string{
		"joinNode":           joinNode,
		"selectNodeBySecret": selectNodeBySecret,
		"selectNodes":        selectNodes,
		"markNodeSeen":       markNodeSeen,
		"ackNode":            ackNode,
		"forgetNode":         forgetNode,
	}
}
