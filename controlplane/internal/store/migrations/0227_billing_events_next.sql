-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX billing_events_next ON billing_events (next_at) WHERE state = 'waiting';
