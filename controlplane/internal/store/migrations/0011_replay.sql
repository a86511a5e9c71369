-- +goose Up
-- Calls under an Idempotency-Key, of which the SHA-256 is kept: who makes the call, until when nobody else may, and the result,
-- sealed. scope_id is the app, or the token that has none. A row that is not running and has size 0 is of a call whose result was
-- not kept.
CREATE TABLE IF NOT EXISTS call_replays (
    scope_id     UUID        NOT NULL,
    key_hash     BYTEA       NOT NULL,
    request_hash BYTEA       NOT NULL,
    key_id       UUID        NOT NULL,
    claim_id     UUID        NOT NULL,
    running      BOOL        NOT NULL,
    lease_until  TIMESTAMPTZ NOT NULL,
    created_at   TIMESTAMPTZ NOT NULL,
    size         INT8        NOT NULL,
    kek_id       TEXT        NOT NULL,
    sealed_key   BYTEA       NOT NULL,
    nonce        BYTEA       NOT NULL,
    ciphertext   BYTEA       NOT NULL,
    CONSTRAINT call_replays_pk PRIMARY KEY (scope_id, key_hash),
    CONSTRAINT call_replays_claim_uq UNIQUE (claim_id),
    CONSTRAINT call_replays_key_fk FOREIGN KEY (key_id) REFERENCES api_keys (id) ON DELETE CASCADE
);
-- What a scope has, without reading the results.
CREATE INDEX IF NOT EXISTS call_replays_scope_idx ON call_replays (scope_id, created_at, size);
-- Of time, and thus in shards on CockroachDB, as of key_requests.
CREATE INDEX IF NOT EXISTS call_replays_created_idx ON call_replays (created_at) /* CockroachDB: USING HASH */;
-- For the removal of a key.
CREATE INDEX IF NOT EXISTS call_replays_key_idx ON call_replays (key_id);
