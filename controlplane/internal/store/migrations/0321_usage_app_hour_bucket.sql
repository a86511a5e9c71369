-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX usage_app_hour_bucket_idx ON usage_app_hour (bucket);
