-- +goose NO TRANSACTION
-- +goose Up
-- What a browser renews its session with: the SHA-256 of a cookie that works once. Used ones are kept for a while, because a
-- second use means that somebody else has the cookie too.
CREATE TABLE session_refreshes (
    hash       BYTEA       NOT NULL,
    session_id UUID        NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    used_at    TIMESTAMPTZ,
    CONSTRAINT session_refreshes_pk PRIMARY KEY (hash),
    CONSTRAINT session_refreshes_session_fk FOREIGN KEY (session_id) REFERENCES sessions (id) ON DELETE CASCADE
);
