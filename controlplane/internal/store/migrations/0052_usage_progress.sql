-- +goose NO TRANSACTION
-- +goose Up
-- How far the usage records of a node are counted: everything below next_seq is, nothing else.
CREATE TABLE usage_progress (
    node_id     UUID        NOT NULL,
    incarnation TEXT        NOT NULL,
    next_seq    INT8        NOT NULL,
    updated_at  TIMESTAMPTZ NOT NULL,
    CONSTRAINT usage_progress_pk PRIMARY KEY (node_id, incarnation)
);
