-- +goose NO TRANSACTION
-- +goose Up
ALTER TABLE usage_hour
    DROP CONSTRAINT usage_hour_pk,
    ADD CONSTRAINT usage_hour_ends_pk PRIMARY KEY (app_id, bucket, key_id, account_id, model, task, status, source, end_reason);
