-- +goose NO TRANSACTION
-- +goose Up
ALTER TABLE organizations ADD COLUMN tokens_per_minute INT8;
