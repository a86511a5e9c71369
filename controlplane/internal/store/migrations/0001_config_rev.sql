-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE config_rev (
    id    INT8 NOT NULL,
    epoch INT8 NOT NULL,
    rev   INT8 NOT NULL,
    CONSTRAINT config_rev_pk PRIMARY KEY (id),
    CONSTRAINT config_rev_single CHECK (id = 1)
);
