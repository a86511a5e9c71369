-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX org_invites_org_idx ON org_invites (org_id, created_at);
