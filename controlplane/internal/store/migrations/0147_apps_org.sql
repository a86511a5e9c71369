-- +goose NO TRANSACTION
-- +goose Up
-- The organization that owns the app; without one, its developer does.
ALTER TABLE apps ADD COLUMN org_id UUID;
