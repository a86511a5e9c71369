-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE sessions (
    id           UUID        NOT NULL,
    developer_id UUID        NOT NULL,
    created_at   TIMESTAMPTZ NOT NULL,
    expires_at   TIMESTAMPTZ NOT NULL,
    CONSTRAINT sessions_pk PRIMARY KEY (id),
    CONSTRAINT sessions_developer_fk FOREIGN KEY (developer_id) REFERENCES developers (id) ON DELETE CASCADE
);
