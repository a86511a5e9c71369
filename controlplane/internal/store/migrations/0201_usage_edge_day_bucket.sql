-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX usage_edge_day_bucket_idx ON usage_edge_day (bucket);
