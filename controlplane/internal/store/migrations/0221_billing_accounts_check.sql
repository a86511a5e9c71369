-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX billing_accounts_check ON billing_accounts (check_at);
