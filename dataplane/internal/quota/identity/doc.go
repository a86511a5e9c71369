// Package identity says who a node of the quota ledger is and lets nodes recognize each other: a cluster has an ID and a small
// certificate authority of its own, a node has an Ed25519 key and a certificate for TLS 1.3 in both directions.
//
// The ID of a node is made from its public key, so no certificate can speak for another node's ID. The certificate names cluster, role
// and node as the URI modelgate://CLUSTER/ROLE/NODE, and the node and the cluster as DNS names, by which a dialler checks whom it
// reached. Voters have the authority's key too, so that any of them can admit further nodes; clients do not.
//
// A node joins by a token that is good once: it carries the authority's certificate and a secret, of which the node that issued it
// keeps the hash. It does not listen or dial; package link does.
//
// Everything lies in one directory, which is made as a whole or not at all. An Identity is safe for concurrent use.
//
// A node's certificate lasts 90 days and is renewed for the same key when a third of that is left: by the node itself if it is a voter, else
// by one. Connections that are made from then on have the new one. The authority's lasts ten years, and a cluster no longer. A single
// certificate is not revoked: the ledger bans the node's number, and voters refuse whoever has that.
package identity
