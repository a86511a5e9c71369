-- +goose NO TRANSACTION
-- +goose Up
ALTER TABLE usage_day
    DROP CONSTRAINT usage_day_pk,
    ADD CONSTRAINT usage_day_ends_pk PRIMARY KEY (app_id, bucket, key_id, account_id, model, task, status, source, end_reason);
