-- +goose NO TRANSACTION
-- +goose Up
-- For the export of an account.
CREATE INDEX key_reads_developer ON key_reads (developer_id, at);
