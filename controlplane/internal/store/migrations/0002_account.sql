-- +goose Up
CREATE TABLE IF NOT EXISTS developers (
    id                UUID        NOT NULL,
    name              TEXT        NOT NULL,
    email             TEXT        NOT NULL,
    password_hash     TEXT        NOT NULL,
    plan              TEXT        NOT NULL,
    per_minute        INT8,
    per_day           INT8,
    verified_at       TIMESTAMPTZ,
    created_at        TIMESTAMPTZ NOT NULL,
    google_sub        TEXT,
    in_flight         INT8,
    tokens_per_minute INT8,
    CONSTRAINT developers_pk PRIMARY KEY (id),
    CONSTRAINT developers_email_key UNIQUE (email)
);
CREATE UNIQUE INDEX IF NOT EXISTS developers_google_sub_key ON developers (google_sub);

CREATE TABLE IF NOT EXISTS sessions (
    id           UUID        NOT NULL,
    developer_id UUID        NOT NULL,
    created_at   TIMESTAMPTZ NOT NULL,
    expires_at   TIMESTAMPTZ NOT NULL,
    address      TEXT        NOT NULL DEFAULT '',
    user_agent   TEXT        NOT NULL DEFAULT '',
    used_at      TIMESTAMPTZ,
    CONSTRAINT sessions_pk PRIMARY KEY (id),
    CONSTRAINT sessions_developer_fk FOREIGN KEY (developer_id) REFERENCES developers (id) ON DELETE CASCADE
);
CREATE INDEX IF NOT EXISTS sessions_developer_idx ON sessions (developer_id, created_at);
CREATE INDEX IF NOT EXISTS sessions_expires_idx ON sessions (expires_at);

-- What a browser renews its session with: the SHA-256 of a cookie that works once. Used ones are kept for a while, because a
-- second use means that somebody else has the cookie too.
CREATE TABLE IF NOT EXISTS session_refreshes (
    hash       BYTEA       NOT NULL,
    session_id UUID        NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    used_at    TIMESTAMPTZ,
    CONSTRAINT session_refreshes_pk PRIMARY KEY (hash),
    CONSTRAINT session_refreshes_session_fk FOREIGN KEY (session_id) REFERENCES sessions (id) ON DELETE CASCADE
);
CREATE INDEX IF NOT EXISTS session_refreshes_session ON session_refreshes (session_id);
CREATE INDEX IF NOT EXISTS session_refreshes_used_idx ON session_refreshes (used_at) WHERE used_at IS NOT NULL;

-- Links in mails: the SHA-256 of what they carry, which works once. Without a developer it is a link that nobody got: asking
-- for one costs the same whether the address has an account or not.
CREATE TABLE IF NOT EXISTS account_links (
    hash         BYTEA       NOT NULL,
    kind         TEXT        NOT NULL,
    developer_id UUID,
    created_at   TIMESTAMPTZ NOT NULL,
    expires_at   TIMESTAMPTZ NOT NULL,
    CONSTRAINT account_links_pk PRIMARY KEY (hash),
    CONSTRAINT account_links_developer_fk FOREIGN KEY (developer_id) REFERENCES developers (id) ON DELETE CASCADE,
    CONSTRAINT account_links_kind CHECK (kind IN ('verify', 'reset'))
);
CREATE INDEX IF NOT EXISTS account_links_developer ON account_links (developer_id);
CREATE INDEX IF NOT EXISTS account_links_expires ON account_links (expires_at);

-- Second factors. The secret is sealed (internal/secret). last_step is the newest time step whose code was used: an older or
-- equal one is not taken again. Until confirmed_at the factor is not asked for.
CREATE TABLE IF NOT EXISTS account_totp (
    developer_id UUID        NOT NULL,
    kek_id       TEXT        NOT NULL,
    sealed_key   BYTEA       NOT NULL,
    nonce        BYTEA       NOT NULL,
    ciphertext   BYTEA       NOT NULL,
    last_step    INT8        NOT NULL,
    created_at   TIMESTAMPTZ NOT NULL,
    confirmed_at TIMESTAMPTZ,
    CONSTRAINT account_totp_pk PRIMARY KEY (developer_id),
    CONSTRAINT account_totp_developer_fk FOREIGN KEY (developer_id) REFERENCES developers (id) ON DELETE CASCADE
);

-- Codes that stand in for a second factor, once each. hash is the SHA-256 of 80 random bits.
CREATE TABLE IF NOT EXISTS account_recovery_codes (
    developer_id UUID  NOT NULL,
    hash         BYTEA NOT NULL,
    CONSTRAINT account_recovery_codes_pk PRIMARY KEY (developer_id, hash),
    CONSTRAINT account_recovery_codes_developer_fk FOREIGN KEY (developer_id) REFERENCES developers (id) ON DELETE CASCADE
);

-- Accounts that are going to be removed. Until delete_at the row can be taken back.
CREATE TABLE IF NOT EXISTS account_deletions (
    developer_id UUID        NOT NULL,
    requested_at TIMESTAMPTZ NOT NULL,
    delete_at    TIMESTAMPTZ NOT NULL,
    CONSTRAINT account_deletions_pk PRIMARY KEY (developer_id),
    CONSTRAINT account_deletions_developer_fk FOREIGN KEY (developer_id) REFERENCES developers (id) ON DELETE CASCADE
);
CREATE INDEX IF NOT EXISTS account_deletions_due ON account_deletions (delete_at);
