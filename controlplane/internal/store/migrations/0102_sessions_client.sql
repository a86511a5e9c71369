-- +goose NO TRANSACTION
-- +goose Up
ALTER TABLE sessions
    ADD COLUMN address TEXT NOT NULL DEFAULT '',
    ADD COLUMN user_agent TEXT NOT NULL DEFAULT '',
    ADD COLUMN used_at TIMESTAMPTZ;
