-- +goose NO TRANSACTION
-- +goose Up
-- Calls per UTC day. The nil UUID as app_id stands for Darwin tokens, which have no app.
CREATE TABLE usage_day (
    app_id     UUID        NOT NULL,
    bucket     TIMESTAMPTZ NOT NULL,
    key_id     UUID        NOT NULL,
    account_id UUID        NOT NULL,
    model      TEXT        NOT NULL,
    task       TEXT        NOT NULL,
    status     INT8        NOT NULL,
    source     TEXT        NOT NULL,
    calls      INT8        NOT NULL,
    errors     INT8        NOT NULL,
    tokens_in  INT8        NOT NULL,
    tokens_out INT8        NOT NULL,
    CONSTRAINT usage_day_pk PRIMARY KEY (app_id, bucket, key_id, account_id, model, task, status, source)
);
