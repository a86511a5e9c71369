-- +goose NO TRANSACTION
-- +goose Up
-- Checkout sessions, each of the account that began it.
CREATE TABLE billing_checkouts (
    session_id TEXT        NOT NULL,
    account_id UUID        NOT NULL,
    plan       TEXT        NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT billing_checkouts_pk PRIMARY KEY (session_id),
    CONSTRAINT billing_checkouts_account_fk FOREIGN KEY (account_id) REFERENCES billing_accounts (account_id) ON DELETE CASCADE
);
