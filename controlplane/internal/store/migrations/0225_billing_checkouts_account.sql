-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX billing_checkouts_account ON billing_checkouts (account_id, created_at);
