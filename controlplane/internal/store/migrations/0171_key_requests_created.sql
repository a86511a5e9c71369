-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX key_requests_created_idx ON key_requests (created_at);
