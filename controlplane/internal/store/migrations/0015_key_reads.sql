-- +goose NO TRANSACTION
-- +goose Up
-- Who read the value of a key again, and when.
CREATE TABLE key_reads (
    id           UUID        NOT NULL,
    key_id       UUID        NOT NULL,
    developer_id UUID        NOT NULL,
    at           TIMESTAMPTZ NOT NULL,
    CONSTRAINT key_reads_pk PRIMARY KEY (id),
    CONSTRAINT key_reads_key_fk FOREIGN KEY (key_id) REFERENCES api_keys (id) ON DELETE CASCADE
);
