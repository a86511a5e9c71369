-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE organizations (
    id         UUID        NOT NULL,
    name       TEXT        NOT NULL,
    plan       TEXT        NOT NULL,
    per_minute INT8,
    per_day    INT8,
    created_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT organizations_pk PRIMARY KEY (id)
);
