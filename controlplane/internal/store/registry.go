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
		appStatements(),
		publishStatements(),
		nodeStatements(),
		ingestStatements(),
		ledgerStatements(),
		counterStatements(),
	} {
		maps.Copy(all, domain)
	}
	return all
}
