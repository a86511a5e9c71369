// Package rewrap moves what is sealed under older key-encryption keys under the current one, so that an old key can be
// dropped from the settings.
//
// Every value has a key of its own, which is sealed under a key-encryption key (package secret); only that small part is made
// anew. The work goes in batches, each of them a transaction, past servers that are running: a value that is erased or
// replaced meanwhile is left alone. There is no state but the values themselves, so that a run that was cut off is continued
// by starting it again. A value whose key is not configured is counted and left as it is.
//
// While the database is away the work ends with the store's 503. The package knows no SQL.
package rewrap
