-- +goose NO TRANSACTION
-- +goose Up
-- The log of calls of apps, kept for a few days: nothing of their content.
CREATE TABLE usage_calls (
    app_id     UUID        NOT NULL,
    at         TIMESTAMPTZ NOT NULL,
    id         TEXT        NOT NULL,
    key_id     UUID        NOT NULL,
    endpoint   TEXT        NOT NULL,
    task       TEXT        NOT NULL,
    model      TEXT        NOT NULL,
    status     INT8        NOT NULL,
    end_reason TEXT        NOT NULL,
    source     TEXT        NOT NULL,
    ttft_us    INT8        NOT NULL,
    took_us    INT8        NOT NULL,
    tokens_in  INT8        NOT NULL,
    tokens_out INT8        NOT NULL,
    CONSTRAINT usage_calls_pk PRIMARY KEY (app_id, at, id)
);
