-- +goose Up
-- The last record of every chain: a chain for each account, each organization and, as id 0, the installation.
CREATE TABLE IF NOT EXISTS audit_chains (
    chain UUID  NOT NULL,
    seq   INT8  NOT NULL,
    hash  BYTEA NOT NULL,
    CONSTRAINT audit_chains_pk PRIMARY KEY (chain)
);

-- Who changed what. Rows are added and never changed. before and after are JSON, kept as text because the hash is of their
-- bytes. They refer to nothing by foreign key: they outlive what they tell of.
CREATE TABLE IF NOT EXISTS audit_records (
    chain      UUID        NOT NULL,
    seq        INT8        NOT NULL,
    at         TIMESTAMPTZ NOT NULL,
    actor      TEXT        NOT NULL,
    session_id TEXT        NOT NULL,
    address    TEXT        NOT NULL,
    operation  TEXT        NOT NULL,
    kind       TEXT        NOT NULL,
    target     TEXT        NOT NULL,
    before     TEXT,
    after      TEXT,
    hash       BYTEA       NOT NULL,
    CONSTRAINT audit_records_pk PRIMARY KEY (chain, seq)
);
