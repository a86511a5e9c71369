-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX billing_subscriptions_account ON billing_subscriptions (account_id);
