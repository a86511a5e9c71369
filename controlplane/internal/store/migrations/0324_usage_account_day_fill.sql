-- +goose NO TRANSACTION
-- +goose Up
-- Room in every page for the next version of its rows: they change with every upload, and their indexes need not.
ALTER TABLE usage_account_day SET (fillfactor = 50);
