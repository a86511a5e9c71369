-- +goose NO TRANSACTION
-- +goose Up
ALTER TABLE developers ADD COLUMN in_flight INT8;
