-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX usage_day_bucket_idx ON usage_day (bucket);
