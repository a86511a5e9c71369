-- +goose NO TRANSACTION
-- +goose Up
ALTER TABLE developers ADD COLUMN tokens_per_minute INT8;
