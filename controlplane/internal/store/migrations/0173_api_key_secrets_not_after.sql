-- +goose NO TRANSACTION
-- +goose Up
-- For the values whose time is over; most have none.
CREATE INDEX api_key_secrets_not_after_idx ON api_key_secrets (not_after) WHERE not_after IS NOT NULL;
