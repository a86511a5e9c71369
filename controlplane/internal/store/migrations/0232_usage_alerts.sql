-- +goose NO TRANSACTION
-- +goose Up
-- Which alerts about the day quota an account wants, a developer or an organization. The signing secret of the webhook is sealed
-- (internal/secret) and empty without one. told is the highest threshold that was told of on told_day.
CREATE TABLE usage_alerts (
    account_id   UUID    NOT NULL,
    developer_id UUID,
    org_id       UUID,
    thresholds   INT8[]  NOT NULL,
    mail         BOOL    NOT NULL,
    webhook_url  TEXT    NOT NULL,
    kek_id       TEXT    NOT NULL,
    sealed_key   BYTEA   NOT NULL,
    nonce        BYTEA   NOT NULL,
    ciphertext   BYTEA   NOT NULL,
    told_day     DATE,
    told         INT8    NOT NULL,
    CONSTRAINT usage_alerts_pk PRIMARY KEY (account_id),
    CONSTRAINT usage_alerts_of_one CHECK (account_id = COALESCE(developer_id, org_id) AND (developer_id IS NULL OR org_id IS NULL)),
    CONSTRAINT usage_alerts_developer_fk FOREIGN KEY (developer_id) REFERENCES developers (id) ON DELETE CASCADE,
    CONSTRAINT usage_alerts_org_fk FOREIGN KEY (org_id) REFERENCES organizations (id) ON DELETE CASCADE
);
