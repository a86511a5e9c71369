// Package canary plants secrets in the whole system and looks for them where they must not be.
//
// It holds tests only. One goes through the interface as a developer would, by way of every sort of secret: passwords, keys, session
// tokens, refresh cookies, links, second factors, recovery codes, the installation's own secrets, the password of a mail server,
// the credentials of model servers. It keeps every answer, has the processes log as much as they can, and has a model server repeat
// what it was sent in an error. Then it scans, as they are, in base64 and in hexadecimal: every file that the processes wrote, logs
// and spools included; every answer that was not there to hand a secret out; everything that operator commands print; and a dump of
// all tables of the database. Last it leaks a secret on purpose in each of these places and wants the scan to find it.
package canary
