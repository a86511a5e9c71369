-- +goose NO TRANSACTION
-- +goose Up
-- Who does what only one replica should do, and until when.
CREATE TABLE leases (
    name   TEXT        NOT NULL,
    holder TEXT        NOT NULL,
    until  TIMESTAMPTZ NOT NULL,
    CONSTRAINT leases_pk PRIMARY KEY (name)
);
