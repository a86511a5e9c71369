-- +goose NO TRANSACTION
-- +goose Up
-- What was made under an Idempotency-Key, of which the SHA-256 is kept, as of the request. The value of the key is where
-- all of them are; when it is erased there is nothing left to repeat.
CREATE TABLE key_requests (
    developer_id     UUID        NOT NULL,
    idempotency_hash BYTEA       NOT NULL,
    request_hash     BYTEA       NOT NULL,
    key_id           UUID        NOT NULL,
    value_hash       BYTEA       NOT NULL,
    version          INT8        NOT NULL,
    previous_until   TIMESTAMPTZ,
    created_at       TIMESTAMPTZ NOT NULL,
    CONSTRAINT key_requests_pk PRIMARY KEY (developer_id, idempotency_hash),
    CONSTRAINT key_requests_developer_fk FOREIGN KEY (developer_id) REFERENCES developers (id) ON DELETE CASCADE,
    CONSTRAINT key_requests_value_fk FOREIGN KEY (value_hash) REFERENCES api_key_secrets (hash) ON DELETE CASCADE
);
