-- +goose NO TRANSACTION
-- +goose Up
ALTER TABLE organizations ADD COLUMN in_flight INT8;
