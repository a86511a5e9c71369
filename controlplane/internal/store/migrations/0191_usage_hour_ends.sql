-- +goose NO TRANSACTION
-- +goose Up
-- How calls ended, and sketches of their durations. What was counted before says neither.
ALTER TABLE usage_hour
    ADD COLUMN end_reason TEXT NOT NULL DEFAULT '',
    ADD COLUMN ttft BYTEA NOT NULL DEFAULT '',
    ADD COLUMN took BYTEA NOT NULL DEFAULT '';
