-- +goose NO TRANSACTION
-- +goose Up
-- Calls of an app that were counted from each node, for good: what the rollups must add up to.
CREATE TABLE usage_app_applied (
    app_id  UUID NOT NULL,
    node_id UUID NOT NULL,
    calls   INT8 NOT NULL,
    CONSTRAINT usage_app_applied_pk PRIMARY KEY (app_id, node_id)
);
