-- +goose NO TRANSACTION
-- +goose Up
-- The last record of every chain: a chain for each account, each organization and, as id 0, the installation.
CREATE TABLE audit_chains (
    chain UUID  NOT NULL,
    seq   INT8  NOT NULL,
    hash  BYTEA NOT NULL,
    CONSTRAINT audit_chains_pk PRIMARY KEY (chain)
);
