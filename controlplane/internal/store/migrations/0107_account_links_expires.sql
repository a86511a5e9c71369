-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX account_links_expires ON account_links (expires_at);
