-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX usage_minute_bucket_idx ON usage_minute (bucket);
