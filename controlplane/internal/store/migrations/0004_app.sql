-- +goose Up
-- With an org_id the organization owns the app, without one its developer does. suspended_at: since when the plan has no room for it.
-- kept: the owner wants it to stay when the plan has not room for all.
CREATE TABLE IF NOT EXISTS apps (
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
    org_id       UUID,
    suspended_at TIMESTAMPTZ,
    kept         BOOL        NOT NULL DEFAULT false,
    CONSTRAINT apps_pk PRIMARY KEY (id),
    CONSTRAINT apps_developer_fk FOREIGN KEY (developer_id) REFERENCES developers (id) ON DELETE CASCADE,
    CONSTRAINT apps_org_fk FOREIGN KEY (org_id) REFERENCES organizations (id),
    CONSTRAINT apps_environment CHECK (environment IN ('test', 'live'))
);
CREATE INDEX IF NOT EXISTS apps_developer_idx ON apps (developer_id, created_at);
CREATE INDEX IF NOT EXISTS apps_org_idx ON apps (org_id, created_at);

-- API keys and, without an app, Darwin tokens. revoked_version is the config version that told the
-- nodes of the revocation. metadata is JSON, kept as it was sent.
CREATE TABLE IF NOT EXISTS api_keys (
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
CREATE INDEX IF NOT EXISTS api_keys_app_idx ON api_keys (app_id, created_at);
CREATE INDEX IF NOT EXISTS api_keys_developer_idx ON api_keys (developer_id, created_at);

-- Every value that a key has had. hash is the SHA-256 of the value; the value itself is sealed (internal/secret) and
-- erased when it stops working.
CREATE TABLE IF NOT EXISTS api_key_secrets (
    hash       BYTEA       NOT NULL,
    key_id     UUID        NOT NULL,
    version    INT8        NOT NULL,
    state      TEXT        NOT NULL,
    not_after  TIMESTAMPTZ,
    kek_id     TEXT        NOT NULL,
    sealed_key BYTEA       NOT NULL,
    nonce      BYTEA       NOT NULL,
    ciphertext BYTEA       NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT api_key_secrets_pk PRIMARY KEY (hash),
    CONSTRAINT api_key_secrets_version_key UNIQUE (key_id, version),
    CONSTRAINT api_key_secrets_key_fk FOREIGN KEY (key_id) REFERENCES api_keys (id) ON DELETE CASCADE,
    CONSTRAINT api_key_secrets_state CHECK (state IN ('active', 'revoked'))
);
-- For the values whose time is over; most have none.
CREATE INDEX IF NOT EXISTS api_key_secrets_not_after_idx ON api_key_secrets (not_after) WHERE not_after IS NOT NULL;

-- Who read the value of a key again, and when.
CREATE TABLE IF NOT EXISTS key_reads (
    id           UUID        NOT NULL,
    key_id       UUID        NOT NULL,
    developer_id UUID        NOT NULL,
    at           TIMESTAMPTZ NOT NULL,
    CONSTRAINT key_reads_pk PRIMARY KEY (id),
    CONSTRAINT key_reads_key_fk FOREIGN KEY (key_id) REFERENCES api_keys (id) ON DELETE CASCADE
);
CREATE INDEX IF NOT EXISTS key_reads_at_idx ON key_reads (at);
CREATE INDEX IF NOT EXISTS key_reads_key_idx ON key_reads (key_id);
-- For the export of an account.
CREATE INDEX IF NOT EXISTS key_reads_developer ON key_reads (developer_id, at);

-- What was made under an Idempotency-Key, of which the SHA-256 is kept, as of the request. The value of the key is where
-- all of them are; when it is erased there is nothing left to repeat.
CREATE TABLE IF NOT EXISTS key_requests (
    developer_id     UUID        NOT NULL,
    idempotency_hash BYTEA       NOT NULL,
    request_hash     BYTEA       NOT NULL,
    key_id           UUID        NOT NULL,
    value_hash       BYTEA       NOT NULL,
    version          INT8        NOT NULL,
    previous_until   TIMESTAMPTZ,
    created_at       TIMESTAMPTZ NOT NULL,
    CONSTRAINT key_requests_pk PRIMARY KEY (developer_id, idempotency_hash),
    CONSTRAINT key_requests_developer_fk FOREIGN KEY (developer_id) REFERENCES developers (id) ON DELETE CASCADE,
    CONSTRAINT key_requests_value_fk FOREIGN KEY (value_hash) REFERENCES api_key_secrets (hash) ON DELETE CASCADE
);
-- Of time, and thus in shards on CockroachDB: all writers of a cluster would write to its newest end, which one node holds.
CREATE INDEX IF NOT EXISTS key_requests_created_idx ON key_requests (created_at) /* CockroachDB: USING HASH */;
CREATE INDEX IF NOT EXISTS key_requests_value_idx ON key_requests (value_hash);
