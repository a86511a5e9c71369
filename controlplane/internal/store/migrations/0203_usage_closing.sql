-- +goose NO TRANSACTION
-- +goose Up
-- The proof of each UTC day: how far the rollups are from what the nodes sent. 0 is none.
CREATE TABLE usage_closing (
    bucket   TIMESTAMPTZ NOT NULL,
    key_days INT8        NOT NULL,
    calls    INT8        NOT NULL,
    drift    INT8        NOT NULL,
    at       TIMESTAMPTZ NOT NULL,
    CONSTRAINT usage_closing_pk PRIMARY KEY (bucket)
);
