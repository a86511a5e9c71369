-- +goose NO TRANSACTION
-- +goose Up
-- What the nodes say they sent, by key and UTC day: what the day rollups must add up to.
CREATE TABLE usage_edge_day (
    app_id     UUID        NOT NULL,
    bucket     TIMESTAMPTZ NOT NULL,
    key_id     UUID        NOT NULL,
    account_id UUID        NOT NULL,
    node_id    UUID        NOT NULL,
    calls      INT8        NOT NULL,
    tokens_in  INT8        NOT NULL,
    tokens_out INT8        NOT NULL,
    CONSTRAINT usage_edge_day_pk PRIMARY KEY (app_id, bucket, key_id, account_id, node_id)
);
