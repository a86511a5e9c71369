-- +goose NO TRANSACTION
-- +goose Up
-- API keys and, without an app, Darwin tokens. revoked_version is the config version that told the
-- nodes of the revocation. metadata is JSON, kept as it was sent.
CREATE TABLE api_keys (
    id              UUID        NOT NULL,
    developer_id    UUID        NOT NULL,
    app_id          UUID,
    kind            TEXT        NOT NULL,
    hint            TEXT        NOT NULL,
    name            TEXT        NOT NULL,
    scopes          TEXT[]      NOT NULL,
    metadata        TEXT        NOT NULL,
    expires_at      TIMESTAMPTZ,
    created_at      TIMESTAMPTZ NOT NULL,
    last_used_at    TIMESTAMPTZ,
    revoked_at      TIMESTAMPTZ,
    revoked_version INT8,
    CONSTRAINT api_keys_pk PRIMARY KEY (id),
    CONSTRAINT api_keys_developer_fk FOREIGN KEY (developer_id) REFERENCES developers (id) ON DELETE CASCADE,
    CONSTRAINT api_keys_app_fk FOREIGN KEY (app_id) REFERENCES apps (id) ON DELETE CASCADE,
    CONSTRAINT api_keys_kind CHECK (kind IN ('test', 'live', 'darwin')),
    CONSTRAINT api_keys_app CHECK ((kind = 'darwin') = (app_id IS NULL))
);
