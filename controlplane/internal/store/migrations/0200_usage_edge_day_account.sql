-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX usage_edge_day_account_idx ON usage_edge_day (account_id, bucket);
