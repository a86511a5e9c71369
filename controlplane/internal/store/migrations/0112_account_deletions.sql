-- +goose NO TRANSACTION
-- +goose Up
-- Accounts that are going to be removed. Until delete_at the row can be taken back.
CREATE TABLE account_deletions (
    developer_id UUID        NOT NULL,
    requested_at TIMESTAMPTZ NOT NULL,
    delete_at    TIMESTAMPTZ NOT NULL,
    CONSTRAINT account_deletions_pk PRIMARY KEY (developer_id),
    CONSTRAINT account_deletions_developer_fk FOREIGN KEY (developer_id) REFERENCES developers (id) ON DELETE CASCADE
);
