-- +goose NO TRANSACTION
-- +goose Up
CREATE UNIQUE INDEX developers_google_sub_key ON developers (google_sub);
