-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX sessions_expires_idx ON sessions (expires_at);
