// Package rivals runs the proxies that the gateway is compared with: nginx, HAProxy and Caddy, each doing what our gateway does as
// far as its standard build can: it checks a key (401), limits calls by key (429), writes an access log, keeps
// connections to the model server and passes every event on at once. The configurations are the .tmpl files of
// this directory.
//
// It finds the programs on this machine and can have Debian's package manager install them; nothing is
// downloaded otherwise. Everything a rival writes lies in the directory that it was given.
//
// A Rival is used by one goroutine. A running proxy ends with the program that started it, nginx's workers included.
//
// A missing program is ErrMissing; one that does not come up is an error with the end of its log.
package rivals
