-- +goose NO TRANSACTION
-- +goose Up
ALTER TABLE apps ADD CONSTRAINT apps_org_fk FOREIGN KEY (org_id) REFERENCES organizations (id);
