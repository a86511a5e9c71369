-- +goose NO TRANSACTION
-- +goose Up
-- Accounts that had to do with billing, each of a developer or of an organization. plan is what their subscriptions paid for when they were last applied; revision counts
-- that, so that nothing older is applied over it.
CREATE TABLE billing_accounts (
    account_id   UUID        NOT NULL,
    developer_id UUID,
    org_id       UUID,
    customer_id  TEXT,
    plan         TEXT        NOT NULL,
    revision     INT8        NOT NULL,
    over_since   TIMESTAMPTZ,
    disputed_at  TIMESTAMPTZ,
    created_at   TIMESTAMPTZ NOT NULL,
    synced_at    TIMESTAMPTZ,
    check_at     TIMESTAMPTZ NOT NULL,
    CONSTRAINT billing_accounts_pk PRIMARY KEY (account_id),
    CONSTRAINT billing_accounts_customer_key UNIQUE (customer_id),
    CONSTRAINT billing_accounts_of_one CHECK (account_id = COALESCE(developer_id, org_id) AND (developer_id IS NULL OR org_id IS NULL)),
    CONSTRAINT billing_accounts_developer_fk FOREIGN KEY (developer_id) REFERENCES developers (id) ON DELETE CASCADE,
    CONSTRAINT billing_accounts_org_fk FOREIGN KEY (org_id) REFERENCES organizations (id) ON DELETE CASCADE
);
