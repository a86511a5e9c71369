-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX key_requests_value_idx ON key_requests (value_hash);
