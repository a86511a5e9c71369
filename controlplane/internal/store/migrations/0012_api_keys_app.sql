-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX api_keys_app_idx ON api_keys (app_id, created_at);
