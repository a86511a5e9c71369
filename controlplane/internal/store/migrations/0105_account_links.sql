-- +goose NO TRANSACTION
-- +goose Up
-- Links in mails: the SHA-256 of what they carry, which works once. Without a developer it is a link that nobody got: asking
-- for one costs the same whether the address has an account or not.
CREATE TABLE account_links (
    hash         BYTEA       NOT NULL,
    kind         TEXT        NOT NULL,
    developer_id UUID,
    created_at   TIMESTAMPTZ NOT NULL,
    expires_at   TIMESTAMPTZ NOT NULL,
    CONSTRAINT account_links_pk PRIMARY KEY (hash),
    CONSTRAINT account_links_developer_fk FOREIGN KEY (developer_id) REFERENCES developers (id) ON DELETE CASCADE,
    CONSTRAINT account_links_kind CHECK (kind IN ('verify', 'reset'))
);
