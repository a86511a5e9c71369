-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX usage_hour_bucket_idx ON usage_hour (bucket);
