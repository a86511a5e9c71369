package store

import "maps"

// Statements returns every SQL statement of the package by name. SQL lives in files named <domain>_sql.go, as constants
// that the function <domain>Statements lists; a test holds the lists against the files and has the database prepare all
// of them.
func Statements() map[string]string {
	all := make(map[string]string)
	for _, domain := range []map[string]string{
		configStatements(),
		accountStatements(),
		sessionStatements(),
		linkStatements(),
		totpStatements(),
		googleStatements(),
		removalStatements(),
		exportStatements(),
		rewrapStatements(),
		appStatements(),
		onceStatements(),
		cameraStatements(),
		replayStatements(),
		publishStatements(),
		nodeStatements(),
		ingestStatements(),
		ledgerStatements(),
		callsStatements(),
		counterStatements(),
		mailStatements(),
		auditStatements(),
		orgStatements(),
		billingStatements(),
		alertStatements(),
	} {
		maps.Copy(all, domain)
	}
	return all
}
