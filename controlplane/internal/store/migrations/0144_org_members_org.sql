-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX org_members_org_idx ON org_members (org_id, joined_at);
