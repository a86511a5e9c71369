-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE public_counters (
    name  TEXT NOT NULL,
    count INT8 NOT NULL,
    CONSTRAINT public_counters_pk PRIMARY KEY (name),
    CONSTRAINT public_counters_name_short CHECK (length(name) BETWEEN 1 AND 64)
);
