-- +goose Up
-- The data-plane nodes. A name keeps its id for good, because usage is told apart by it; secret_hash is the SHA-256 of
-- the secret. What a node acknowledged is empty from each join to its first acknowledgement.
CREATE TABLE IF NOT EXISTS nodes (
    id            UUID        NOT NULL,
    name          TEXT        NOT NULL,
    secret_hash   BYTEA       NOT NULL,
    build         TEXT        NOT NULL,
    joined_at     TIMESTAMPTZ NOT NULL,
    last_seen_at  TIMESTAMPTZ NOT NULL,
    acked_epoch   INT8,
    acked_version INT8,
    acked_at      TIMESTAMPTZ,
    keys_held     INT8,
    forgotten_at  TIMESTAMPTZ,
    CONSTRAINT nodes_pk PRIMARY KEY (id),
    CONSTRAINT nodes_name_key UNIQUE (name),
    CONSTRAINT nodes_secret_hash_key UNIQUE (secret_hash)
);

-- Who does what only one replica should do, and until when.
CREATE TABLE IF NOT EXISTS leases (
    name   TEXT        NOT NULL,
    holder TEXT        NOT NULL,
    until  TIMESTAMPTZ NOT NULL,
    CONSTRAINT leases_pk PRIMARY KEY (name)
);
