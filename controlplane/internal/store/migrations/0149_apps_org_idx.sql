-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX apps_org_idx ON apps (org_id, created_at);
