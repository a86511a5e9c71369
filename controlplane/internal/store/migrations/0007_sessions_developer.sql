-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX sessions_developer_idx ON sessions (developer_id, created_at);
