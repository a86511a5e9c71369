-- +goose NO TRANSACTION
-- +goose Up
-- Calls per UTC minute, kept for a few days. ttft and took are sketches of durations, see package sketch.
CREATE TABLE usage_minute (
    app_id     UUID        NOT NULL,
    bucket     TIMESTAMPTZ NOT NULL,
    key_id     UUID        NOT NULL,
    account_id UUID        NOT NULL,
    model      TEXT        NOT NULL,
    task       TEXT        NOT NULL,
    status     INT8        NOT NULL,
    source     TEXT        NOT NULL,
    end_reason TEXT        NOT NULL,
    calls      INT8        NOT NULL,
    errors     INT8        NOT NULL,
    tokens_in  INT8        NOT NULL,
    tokens_out INT8        NOT NULL,
    ttft       BYTEA       NOT NULL,
    took       BYTEA       NOT NULL,
    CONSTRAINT usage_minute_pk PRIMARY KEY (app_id, bucket, key_id, account_id, model, task, status, source, end_reason)
);
