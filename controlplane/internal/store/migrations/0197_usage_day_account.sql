-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX usage_day_account_idx ON usage_day (account_id, bucket);
