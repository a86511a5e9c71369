-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX usage_hour_account_idx ON usage_hour (account_id, bucket);
