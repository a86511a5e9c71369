-- +goose Up
-- sponsor_id: whose plan the organization has until it buys one of its own. That is its founder, who pays for it.
CREATE TABLE IF NOT EXISTS organizations (
    id                UUID        NOT NULL,
    name              TEXT        NOT NULL,
    plan              TEXT        NOT NULL,
    per_minute        INT8,
    per_day           INT8,
    created_at        TIMESTAMPTZ NOT NULL,
    sponsor_id        UUID,
    in_flight         INT8,
    tokens_per_minute INT8,
    CONSTRAINT organizations_pk PRIMARY KEY (id),
    CONSTRAINT organizations_sponsor_fk FOREIGN KEY (sponsor_id) REFERENCES developers (id) ON DELETE SET NULL
);
CREATE INDEX IF NOT EXISTS organizations_sponsor_idx ON organizations (sponsor_id);

-- A developer is in one organization at most, hence the primary key.
CREATE TABLE IF NOT EXISTS org_members (
    developer_id UUID        NOT NULL,
    org_id       UUID        NOT NULL,
    role         TEXT        NOT NULL,
    joined_at    TIMESTAMPTZ NOT NULL,
    CONSTRAINT org_members_pk PRIMARY KEY (developer_id),
    CONSTRAINT org_members_developer_fk FOREIGN KEY (developer_id) REFERENCES developers (id) ON DELETE CASCADE,
    CONSTRAINT org_members_org_fk FOREIGN KEY (org_id) REFERENCES organizations (id) ON DELETE CASCADE,
    CONSTRAINT org_members_role CHECK (role IN ('owner', 'admin', 'developer', 'billing', 'viewer'))
);
CREATE INDEX IF NOT EXISTS org_members_org_idx ON org_members (org_id, joined_at);

-- The id is what the link carries: 122 random bits. An invite that is pending after expires_at has expired.
CREATE TABLE IF NOT EXISTS org_invites (
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
CREATE INDEX IF NOT EXISTS org_invites_org_idx ON org_invites (org_id, created_at);
