-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX mail_outbox_next ON mail_outbox (next_at) WHERE dead_at IS NULL;
