-- +goose NO TRANSACTION
-- +goose Up
-- For the removal of a key.
CREATE INDEX call_replays_key_idx ON call_replays (key_id);
