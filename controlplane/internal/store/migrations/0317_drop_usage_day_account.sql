-- +goose NO TRANSACTION
-- +goose Up
-- usage_day_account_idx is the same.
DROP INDEX usage_day_account;
