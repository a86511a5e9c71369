package store

const (
	selectConfigRev = `SELECT epoch, rev FROM config_rev WHERE id = 1`

	bumpConfigRev = `UPDATE config_rev SET rev = rev + $1 WHERE id = 1 RETURNING rev`

	insertConfigLog = `
		INSERT INTO config_log (rev, kind, id, body, gone, at)
		SELECT c.rev, c.kind, c.id, c.body::JSONB, c.gone, $6::TIMESTAMPTZ
		FROM unnest($1::INT8[], $2::TEXT[], $3::TEXT[], $4::TEXT[], $5::BOOL[]) AS c (rev, kind, id, body, gone)`

	upsertConfigRecords = `
		INSERT INTO config_records (kind, id, body, rev)
		SELECT c.kind, c.id, c.body::JSONB, c.rev
		FROM unnest($1::INT8[], $2::TEXT[], $3::TEXT[], $4::TEXT[]) AS c (rev, kind, id, body)
		ON CONFLICT (kind, id) DO UPDATE SET body = excluded.body, rev = excluded.rev`

	deleteConfigRecords = `
		DELETE FROM config_records
		WHERE (kind, id) IN (SELECT c.kind, c.id FROM unnest($1::TEXT[], $2::TEXT[]) AS c (kind, id))`
)

func configStatements() map[string]string {
	return map[string]string{
		"selectConfigRev":     selectConfigRev,
		"bumpConfigRev":       bumpConfigRev,
		"insertConfigLog":     insertConfigLog,
		"upsertConfigRecords": upsertConfigRecords,
		"deleteConfigRecords": deleteConfigRecords,
	}
}
