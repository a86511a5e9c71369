-- +goose NO TRANSACTION
-- +goose Up
-- The body as it goes to nodes. Writing out JSONB is half of what the database does when a node joins; this is written once.
ALTER TABLE config_records ADD COLUMN line TEXT GENERATED ALWAYS AS (body::TEXT) STORED;
