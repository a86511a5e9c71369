-- +goose NO TRANSACTION
-- +goose Up
-- What the payment processor last said of the subscriptions of an account.
CREATE TABLE billing_subscriptions (
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
