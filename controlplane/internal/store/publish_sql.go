package store

const (
	selectChangesBetween = `
		SELECT rev, kind, id, body, gone FROM config_log
		WHERE rev > $1 AND rev <= $2 ORDER BY rev LIMIT $3`

	selectOldestChange = `SELECT rev FROM config_log ORDER BY rev LIMIT 1`

	selectRecordsAfter = `
		SELECT rev, kind, id, line FROM config_records
		WHERE (kind, id) > ($1, $2) ORDER BY kind, id LIMIT $3`

	selectRecordsOfKinds = `
		SELECT rev, kind, id, body, FALSE AS gone FROM config_records
		WHERE kind = ANY ($1::TEXT[]) ORDER BY kind, id`

	// Only the oldest rows are looked at, so a long history is neither scanned nor deleted in one transaction.
	trimConfigLog = `
		DELETE FROM config_log WHERE rev <= (
			SELECT max(oldest.rev)
			FROM (SELECT rev, at FROM config_log ORDER BY rev LIMIT $3) AS oldest
			WHERE oldest.at < $1 OR oldest.rev <= (SELECT r.rev - $2::INT8 FROM config_rev AS r WHERE r.id = 1)
		)`

	takeLease = `
		INSERT INTO leases (name, holder, until) VALUES ($1, $2, $3)
		ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
		WHERE leases.holder = excluded.holder OR leases.until <= $4
		RETURNING name`
)

func publishStatements() map[string]string {
	return map[string]string{
		"selectChangesBetween": selectChangesBetween,
		"selectOldestChange":   selectOldestChange,
		"selectRecordsAfter":   selectRecordsAfter,
		"selectRecordsOfKinds": selectRecordsOfKinds,
		"trimConfigLog":        trimConfigLog,
		"takeLease":            takeLease,
	}
}
