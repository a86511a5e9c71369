// Package secret seals values that must be readable again (API keys) before they are stored: envelope encryption with
// AES-256-GCM.
//
// Every value gets a key of its own, which is sealed under a key-encryption key and stored beside it. Key-encryption keys
// have ids, and a [Vault] holds the current one and any number of older ones, so they can be replaced while values sealed
// under the old one stay readable. The context of a value (what it is and whose) is authenticated with it: a row that was
// copied to another owner does not open.
//
// It neither stores anything nor decides who may read. A Vault is immutable and safe for concurrent use. It depends on
// nothing that can be away; a value that does not open is an error and means wrong keys or a damaged row.
package secret
