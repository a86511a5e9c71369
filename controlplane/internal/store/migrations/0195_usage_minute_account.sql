-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX usage_minute_account_idx ON usage_minute (account_id, bucket);
