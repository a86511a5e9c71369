-- +goose NO TRANSACTION
-- +goose Up
ALTER TABLE organizations ADD CONSTRAINT organizations_sponsor_fk FOREIGN KEY (sponsor_id) REFERENCES developers (id) ON DELETE SET NULL;
