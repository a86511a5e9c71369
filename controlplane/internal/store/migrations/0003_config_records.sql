-- +goose NO TRANSACTION
-- +goose Up
-- What is in force now: a full snapshot sends this.
CREATE TABLE config_records (
    kind TEXT  NOT NULL,
    id   TEXT  NOT NULL,
    body JSONB NOT NULL,
    rev  INT8  NOT NULL,
    CONSTRAINT config_records_pk PRIMARY KEY (kind, id)
);
