-- +goose NO TRANSACTION
-- +goose Up
-- For the export of an account.
CREATE INDEX usage_day_account ON usage_day (account_id, bucket);
