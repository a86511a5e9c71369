-- +goose Up
-- Which alerts about the day quota an account wants, a developer or an organization. The signing secret of the webhook is sealed
-- (internal/secret) and empty without one. told is the highest threshold that was told of on told_day.
CREATE TABLE IF NOT EXISTS usage_alerts (
    account_id   UUID   NOT NULL,
    developer_id UUID,
    org_id       UUID,
    thresholds   INT8[] NOT NULL,
    mail         BOOL   NOT NULL,
    webhook_url  TEXT   NOT NULL,
    kek_id       TEXT   NOT NULL,
    sealed_key   BYTEA  NOT NULL,
    nonce        BYTEA  NOT NULL,
    ciphertext   BYTEA  NOT NULL,
    told_day     DATE,
    told         INT8   NOT NULL,
    CONSTRAINT usage_alerts_pk PRIMARY KEY (account_id),
    CONSTRAINT usage_alerts_of_one CHECK (account_id = COALESCE(developer_id, org_id) AND (developer_id IS NULL OR org_id IS NULL)),
    CONSTRAINT usage_alerts_developer_fk FOREIGN KEY (developer_id) REFERENCES developers (id) ON DELETE CASCADE,
    CONSTRAINT usage_alerts_org_fk FOREIGN KEY (org_id) REFERENCES organizations (id) ON DELETE CASCADE
);
CREATE INDEX IF NOT EXISTS usage_alerts_developer_idx ON usage_alerts (developer_id);
CREATE INDEX IF NOT EXISTS usage_alerts_org_idx ON usage_alerts (org_id);

-- Notifications for the webhooks of accounts. Who sends one moves next_at, so that nobody else takes it meanwhile.
CREATE TABLE IF NOT EXISTS usage_alert_deliveries (
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
CREATE INDEX IF NOT EXISTS usage_alert_deliveries_next ON usage_alert_deliveries (next_at) WHERE state = 'waiting';
CREATE INDEX IF NOT EXISTS usage_alert_deliveries_ended_idx ON usage_alert_deliveries (next_at) WHERE state <> 'waiting';
CREATE INDEX IF NOT EXISTS usage_alert_deliveries_account ON usage_alert_deliveries (account_id, created_at);
