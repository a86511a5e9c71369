-- +goose NO TRANSACTION
-- +goose Up
-- Every value that a key has had. hash is the SHA-256 of the value; the value itself is sealed (internal/secret) and
-- erased when it stops working.
CREATE TABLE api_key_secrets (
    hash       BYTEA       NOT NULL,
    key_id     UUID        NOT NULL,
    version    INT8        NOT NULL,
    state      TEXT        NOT NULL,
    not_after  TIMESTAMPTZ,
    kek_id     TEXT        NOT NULL,
    sealed_key BYTEA       NOT NULL,
    nonce      BYTEA       NOT NULL,
    ciphertext BYTEA       NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT api_key_secrets_pk PRIMARY KEY (hash),
    CONSTRAINT api_key_secrets_version_key UNIQUE (key_id, version),
    CONSTRAINT api_key_secrets_key_fk FOREIGN KEY (key_id) REFERENCES api_keys (id) ON DELETE CASCADE,
    CONSTRAINT api_key_secrets_state CHECK (state IN ('active', 'revoked'))
);
