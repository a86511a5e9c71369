// Package app knows applications, their API keys and Darwin tokens: how they come, change and go, and what the nodes are
// told about them.
//
// A key has an id that stays and values that change. A value is shown when it is made and can be read again by its owner;
// it is stored sealed (package secret) and found by its SHA-256. What the nodes get is a [plane.Principal] per value
// ([Grant.Change]); store announces it in the transaction that makes it true.
//
// An app belongs to a developer or to an organization (package org), whose members use it as their role allows. The package
// checks that by asking storage for things of a developer: what belongs to someone else does not exist.
// It does not meter, limit or serve calls.
//
// All types are safe for concurrent use. While the database is away everything fails with the store's 503.
package app
