-- +goose Up
-- Mails that wait to be sent, and dead ones. The text is sealed (internal/secret) and erased when a letter is given up.
-- Who sends moves next_at, so that nobody else takes the letter meanwhile.
CREATE TABLE IF NOT EXISTS mail_outbox (
    id         UUID        NOT NULL,
    recipient  TEXT        NOT NULL,
    template   TEXT        NOT NULL,
    kek_id     TEXT        NOT NULL,
    sealed_key BYTEA       NOT NULL,
    nonce      BYTEA       NOT NULL,
    ciphertext BYTEA       NOT NULL,
    attempts   INT8        NOT NULL,
    reason     TEXT        NOT NULL,
    next_at    TIMESTAMPTZ NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL,
    dead_at    TIMESTAMPTZ,
    CONSTRAINT mail_outbox_pk PRIMARY KEY (id)
);
CREATE INDEX IF NOT EXISTS mail_outbox_next ON mail_outbox (next_at) WHERE dead_at IS NULL;
CREATE INDEX IF NOT EXISTS mail_outbox_dead_idx ON mail_outbox (dead_at) WHERE dead_at IS NOT NULL;
-- For the removal of an account.
CREATE INDEX IF NOT EXISTS mail_outbox_recipient_idx ON mail_outbox (recipient);
