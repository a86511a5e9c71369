-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE public_counter_state (
    id      INT8 NOT NULL,
    since   TIMESTAMPTZ NOT NULL,
    dropped INT8 NOT NULL,
    CONSTRAINT public_counter_state_pk PRIMARY KEY (id),
    CONSTRAINT public_counter_state_single CHECK (id = 1)
);
