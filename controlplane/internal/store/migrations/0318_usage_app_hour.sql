-- +goose NO TRANSACTION
-- +goose Up
-- Calls per UTC hour of an app and account: the points of its charts, of which usage_hour has hundreds of rows each. Written with it.
CREATE TABLE usage_app_hour (
    app_id     UUID        NOT NULL,
    bucket     TIMESTAMPTZ NOT NULL,
    account_id UUID        NOT NULL,
    calls      INT8        NOT NULL,
    errors     INT8        NOT NULL,
    tokens_in  INT8        NOT NULL,
    tokens_out INT8        NOT NULL,
    ttft       BYTEA       NOT NULL,
    took       BYTEA       NOT NULL,
    CONSTRAINT usage_app_hour_pk PRIMARY KEY (app_id, bucket, account_id)
);
