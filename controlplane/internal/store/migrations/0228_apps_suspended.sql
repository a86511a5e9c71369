-- +goose NO TRANSACTION
-- +goose Up
-- When an app was suspended because the plan has no room for it.
ALTER TABLE apps ADD COLUMN suspended_at TIMESTAMPTZ;
