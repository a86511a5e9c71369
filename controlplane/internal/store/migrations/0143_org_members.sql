-- +goose NO TRANSACTION
-- +goose Up
-- A developer is in one organization at most, hence the primary key.
CREATE TABLE org_members (
    developer_id UUID        NOT NULL,
    org_id       UUID        NOT NULL,
    role         TEXT        NOT NULL,
    joined_at    TIMESTAMPTZ NOT NULL,
    CONSTRAINT org_members_pk PRIMARY KEY (developer_id),
    CONSTRAINT org_members_developer_fk FOREIGN KEY (developer_id) REFERENCES developers (id) ON DELETE CASCADE,
    CONSTRAINT org_members_org_fk FOREIGN KEY (org_id) REFERENCES organizations (id) ON DELETE CASCADE,
    CONSTRAINT org_members_role CHECK (role IN ('owner', 'admin', 'developer', 'billing', 'viewer'))
);
