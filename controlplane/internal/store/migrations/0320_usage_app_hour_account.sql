-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX usage_app_hour_account_idx ON usage_app_hour (account_id, bucket);
