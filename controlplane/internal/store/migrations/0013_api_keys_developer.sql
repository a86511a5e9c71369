-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX api_keys_developer_idx ON api_keys (developer_id, created_at);
