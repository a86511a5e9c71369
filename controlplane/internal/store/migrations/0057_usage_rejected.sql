-- +goose NO TRANSACTION
-- +goose Up
-- What nodes sent and could not be counted: single records, or whole segments that could not be read.
CREATE TABLE usage_rejected (
    node_id     UUID        NOT NULL,
    incarnation TEXT        NOT NULL,
    seq         INT8        NOT NULL,
    whole       BOOL        NOT NULL,
    reason      TEXT        NOT NULL,
    body        BYTEA       NOT NULL,
    times       INT8        NOT NULL,
    at          TIMESTAMPTZ NOT NULL,
    CONSTRAINT usage_rejected_pk PRIMARY KEY (node_id, incarnation, seq, whole)
);
