-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX account_deletions_due ON account_deletions (delete_at);
