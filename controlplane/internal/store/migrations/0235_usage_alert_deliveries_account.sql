-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX usage_alert_deliveries_account ON usage_alert_deliveries (account_id, created_at);
