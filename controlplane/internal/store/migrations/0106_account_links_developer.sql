-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX account_links_developer ON account_links (developer_id);
