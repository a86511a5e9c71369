// Package catalog says what an installation has to offer: the models that its operator configured, the families and tasks
// that apps are scoped by, the plans, and the images for hardware.
//
// It invents nothing: a model or an image that is not configured is not there, and nothing of the upstreams behind the models is
// shown. Whether a model answers at the moment is known to the gateway, not here. The package serves no HTTP and keeps no
// state but what it was made of, so it is safe for concurrent use. Image files are opened when they are asked for; one
// that is missing is told as not available, and nothing else is affected.
package catalog
