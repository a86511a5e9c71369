-- +goose NO TRANSACTION
-- +goose Up
-- Notifications of the payment processor, once each: whom to look at. Their content is not kept, since what is true is fetched.
-- Who works on one moves next_at, so that nobody else takes it meanwhile.
CREATE TABLE billing_events (
    id          TEXT        NOT NULL,
    type        TEXT        NOT NULL,
    customer_id TEXT        NOT NULL,
    object_id   TEXT        NOT NULL,
    created_at  TIMESTAMPTZ NOT NULL,
    received_at TIMESTAMPTZ NOT NULL,
    attempts    INT8        NOT NULL,
    state       TEXT        NOT NULL,
    reason      TEXT        NOT NULL,
    next_at     TIMESTAMPTZ NOT NULL,
    CONSTRAINT billing_events_pk PRIMARY KEY (id),
    CONSTRAINT billing_events_state CHECK (state IN ('waiting', 'done', 'dead'))
);
