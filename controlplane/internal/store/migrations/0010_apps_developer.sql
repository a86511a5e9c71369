-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX apps_developer_idx ON apps (developer_id, created_at);
