-- +goose NO TRANSACTION
-- +goose Up
ALTER TABLE developers ADD COLUMN google_sub TEXT;
