-- +goose NO TRANSACTION
-- +goose Up
-- Second factors. The secret is sealed (internal/secret). last_step is the newest time step whose code was used: an older or
-- equal one is not taken again. Until confirmed_at the factor is not asked for.
CREATE TABLE account_totp (
    developer_id UUID        NOT NULL,
    kek_id       TEXT        NOT NULL,
    sealed_key   BYTEA       NOT NULL,
    nonce        BYTEA       NOT NULL,
    ciphertext   BYTEA       NOT NULL,
    last_step    INT8        NOT NULL,
    created_at   TIMESTAMPTZ NOT NULL,
    confirmed_at TIMESTAMPTZ,
    CONSTRAINT account_totp_pk PRIMARY KEY (developer_id),
    CONSTRAINT account_totp_developer_fk FOREIGN KEY (developer_id) REFERENCES developers (id) ON DELETE CASCADE
);
