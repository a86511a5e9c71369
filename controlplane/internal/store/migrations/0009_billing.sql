-- +goose Up
-- Accounts that had to do with billing, each of a developer or of an organization. plan is what their subscriptions paid for when they
-- were last applied; revision counts that, so that nothing older is applied over it.
CREATE TABLE IF NOT EXISTS billing_accounts (
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
CREATE INDEX IF NOT EXISTS billing_accounts_check ON billing_accounts (check_at);
CREATE INDEX IF NOT EXISTS billing_accounts_developer_idx ON billing_accounts (developer_id);
CREATE INDEX IF NOT EXISTS billing_accounts_org_idx ON billing_accounts (org_id);

-- What the payment processor last said of the subscriptions of an account.
CREATE TABLE IF NOT EXISTS billing_subscriptions (
    id                   TEXT        NOT NULL,
    account_id           UUID        NOT NULL,
    status               TEXT        NOT NULL,
    plan                 TEXT        NOT NULL,
    billed_by            TEXT        NOT NULL,
    period_end           TIMESTAMPTZ NOT NULL,
    cancel_at_period_end BOOL        NOT NULL,
    unpaid_since         TIMESTAMPTZ,
    CONSTRAINT billing_subscriptions_pk PRIMARY KEY (id),
    CONSTRAINT billing_subscriptions_account_fk FOREIGN KEY (account_id) REFERENCES billing_accounts (account_id) ON DELETE CASCADE
);
CREATE INDEX IF NOT EXISTS billing_subscriptions_account ON billing_subscriptions (account_id);

-- Checkout sessions, each of the account that began it.
CREATE TABLE IF NOT EXISTS billing_checkouts (
    session_id TEXT        NOT NULL,
    account_id UUID        NOT NULL,
    plan       TEXT        NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT billing_checkouts_pk PRIMARY KEY (session_id),
    CONSTRAINT billing_checkouts_account_fk FOREIGN KEY (account_id) REFERENCES billing_accounts (account_id) ON DELETE CASCADE
);
CREATE INDEX IF NOT EXISTS billing_checkouts_account ON billing_checkouts (account_id, created_at);

-- Notifications of the payment processor, once each: whom to look at. Their content is not kept, since what is true is fetched.
-- Who works on one moves next_at, so that nobody else takes it meanwhile.
CREATE TABLE IF NOT EXISTS billing_events (
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
CREATE INDEX IF NOT EXISTS billing_events_next ON billing_events (next_at) WHERE state = 'waiting';
CREATE INDEX IF NOT EXISTS billing_events_done_idx ON billing_events (next_at) WHERE state = 'done';
