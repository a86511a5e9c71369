-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX call_replays_created_idx ON call_replays (created_at);
