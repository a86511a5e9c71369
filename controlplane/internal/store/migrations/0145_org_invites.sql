-- +goose NO TRANSACTION
-- +goose Up
-- The id is what the link carries: 122 random bits. An invite that is pending after expires_at has expired.
CREATE TABLE org_invites (
    id         UUID        NOT NULL,
    org_id     UUID        NOT NULL,
    email      TEXT        NOT NULL,
    role       TEXT        NOT NULL,
    status     TEXT        NOT NULL,
    inviter    TEXT        NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT org_invites_pk PRIMARY KEY (id),
    CONSTRAINT org_invites_org_fk FOREIGN KEY (org_id) REFERENCES organizations (id) ON DELETE CASCADE,
    CONSTRAINT org_invites_role CHECK (role IN ('owner', 'admin', 'developer', 'billing', 'viewer')),
    CONSTRAINT org_invites_status CHECK (status IN ('pending', 'accepted', 'revoked'))
);
