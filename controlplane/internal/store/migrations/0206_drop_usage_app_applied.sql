-- +goose NO TRANSACTION
-- +goose Up
DROP TABLE usage_app_applied;
