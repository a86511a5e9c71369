-- +goose NO TRANSACTION
-- +goose Up
-- The recent history, one row a version: a node that is not far behind is sent this.
CREATE TABLE config_log (
    rev  INT8        NOT NULL,
    kind TEXT        NOT NULL,
    id   TEXT        NOT NULL,
    body JSONB,
    gone BOOL        NOT NULL,
    at   TIMESTAMPTZ NOT NULL,
    CONSTRAINT config_log_pk PRIMARY KEY (rev),
    CONSTRAINT config_log_body CHECK (gone = (body IS NULL))
);
