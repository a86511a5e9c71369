-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX usage_calls_at_idx ON usage_calls (at);
