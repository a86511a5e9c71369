-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX key_reads_at_idx ON key_reads (at);
