-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE developers (
    id            UUID        NOT NULL,
    name          TEXT        NOT NULL,
    email         TEXT        NOT NULL,
    password_hash TEXT        NOT NULL,
    plan          TEXT        NOT NULL,
    per_minute    INT8,
    per_day       INT8,
    verified_at   TIMESTAMPTZ,
    created_at    TIMESTAMPTZ NOT NULL,
    CONSTRAINT developers_pk PRIMARY KEY (id),
    CONSTRAINT developers_email_key UNIQUE (email)
);
