package store

const (
	auditColumns = `chain, seq, at, actor, session_id, address, operation, kind, target, before, after, hash`

	selectAuditHead = `SELECT seq, hash FROM audit_chains WHERE chain = $1`

	lockAuditHead = `SELECT seq, hash FROM audit_chains WHERE chain = $1 FOR UPDATE`

	upsertAuditHead = `
		INSERT INTO audit_chains (chain, seq, hash) VALUES ($1, $2, $3)
		ON CONFLICT (chain) DO UPDATE SET seq = excluded.seq, hash = excluded.hash`

	insertAuditRecord = `
		INSERT INTO audit_records (` + auditColumns + `) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`

	selectAuditRecords = `
		SELECT ` + auditColumns + ` FROM audit_records
		WHERE chain = $1 AND ($2 = '' OR actor = $2) AND ($3 = '' OR operation = $3) AND ($4 = '' OR kind = $4) AND ($5 = '' OR target = $5)
			AND ($6::TIMESTAMPTZ IS NULL OR at >= $6) AND ($7::TIMESTAMPTZ IS NULL OR at < $7) AND ($8::INT8 = 0 OR seq < $8)
		ORDER BY seq DESC LIMIT $9`

	selectAuditChain = `SELECT ` + auditColumns + ` FROM audit_records WHERE chain = $1 AND seq > $2 ORDER BY seq LIMIT $3`

	selectAuditChains = `SELECT chain FROM audit_chains WHERE chain > $1 ORDER BY chain LIMIT $2`
)

func auditStatements() map[string]string {
	return map[string]string{
		"selectAuditHead":    selectAuditHead,
		"lockAuditHead":      lockAuditHead,
		"upsertAuditHead":    upsertAuditHead,
		"insertAuditRecord":  insertAuditRecord,
		"selectAuditRecords": selectAuditRecords,
		"selectAuditChain":   selectAuditChain,
		"selectAuditChains":  selectAuditChains,
	}
}
