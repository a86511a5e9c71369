-- +goose NO TRANSACTION
-- +goose Up
-- Whose plan the organization has until it buys one of its own: that of its founder, who pays for it.
ALTER TABLE organizations ADD COLUMN sponsor_id UUID;
