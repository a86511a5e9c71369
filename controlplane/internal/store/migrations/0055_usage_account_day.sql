-- +goose NO TRANSACTION
-- +goose Up
-- Calls that count against the day quota of an account, by UTC day.
CREATE TABLE usage_account_day (
    account_id UUID NOT NULL,
    day        DATE NOT NULL,
    calls      INT8 NOT NULL,
    CONSTRAINT usage_account_day_pk PRIMARY KEY (account_id, day)
);
