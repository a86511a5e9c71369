-- +goose NO TRANSACTION
-- +goose Up
-- Room in every page for the next version of its rows, as in the other tables of usage.
ALTER TABLE usage_app_hour SET (fillfactor = 50);
