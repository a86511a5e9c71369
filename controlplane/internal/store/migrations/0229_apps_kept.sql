-- +goose NO TRANSACTION
-- +goose Up
-- Which apps the owner wants to keep when the plan has not room for all.
ALTER TABLE apps ADD COLUMN kept BOOL NOT NULL DEFAULT false;
