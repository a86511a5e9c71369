-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX usage_calls_left_day_idx ON usage_calls_left (day);
