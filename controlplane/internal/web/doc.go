// Package web embeds the built portal (portal/ compiled into dist). A build without the portal has the page of
// dist.placeholder in its place, which says so and links to what works without it.
//
// It only holds files: who serves them and with which headers is the api package's matter. It is immutable and cannot fail
// at run time.
package web
