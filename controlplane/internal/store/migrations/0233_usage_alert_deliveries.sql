-- +goose NO TRANSACTION
-- +goose Up
-- Notifications for the webhooks of accounts. Who sends one moves next_at, so that nobody else takes it meanwhile.
CREATE TABLE usage_alert_deliveries (
    id         UUID        NOT NULL,
    account_id UUID        NOT NULL,
    day        DATE        NOT NULL,
    threshold  INT8        NOT NULL,
    body       TEXT        NOT NULL,
    state      TEXT        NOT NULL,
    reason     TEXT        NOT NULL,
    attempts   INT8        NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    next_at    TIMESTAMPTZ NOT NULL,
    CONSTRAINT usage_alert_deliveries_pk PRIMARY KEY (id),
    CONSTRAINT usage_alert_deliveries_state CHECK (state IN ('waiting', 'done', 'dead')),
    CONSTRAINT usage_alert_deliveries_account_fk FOREIGN KEY (account_id) REFERENCES usage_alerts (account_id) ON DELETE CASCADE
);
