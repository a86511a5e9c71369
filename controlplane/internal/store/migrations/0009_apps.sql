-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE apps (
    id           UUID        NOT NULL,
    developer_id UUID        NOT NULL,
    name         TEXT        NOT NULL,
    description  TEXT        NOT NULL,
    environment  TEXT        NOT NULL,
    families     TEXT[]      NOT NULL,
    tasks        TEXT[]      NOT NULL,
    rate_limit   INT8        NOT NULL,
    active       BOOL        NOT NULL,
    expires_at   TIMESTAMPTZ,
    created_at   TIMESTAMPTZ NOT NULL,
    updated_at   TIMESTAMPTZ NOT NULL,
    CONSTRAINT apps_pk PRIMARY KEY (id),
    CONSTRAINT apps_developer_fk FOREIGN KEY (developer_id) REFERENCES developers (id) ON DELETE CASCADE,
    CONSTRAINT apps_environment CHECK (environment IN ('test', 'live'))
);
