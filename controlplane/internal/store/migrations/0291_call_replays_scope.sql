-- +goose NO TRANSACTION
-- +goose Up
-- What a scope has, without reading the results.
CREATE INDEX call_replays_scope_idx ON call_replays (scope_id, created_at, size);
