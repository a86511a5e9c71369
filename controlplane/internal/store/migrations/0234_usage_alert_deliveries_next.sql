-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX usage_alert_deliveries_next ON usage_alert_deliveries (next_at) WHERE state = 'waiting';
