-- +goose Up
CREATE TABLE IF NOT EXISTS config_rev (
    id    INT8 NOT NULL,
    epoch INT8 NOT NULL,
    rev   INT8 NOT NULL,
    CONSTRAINT config_rev_pk PRIMARY KEY (id),
    CONSTRAINT config_rev_single CHECK (id = 1)
);

-- The epoch names this history: a new database has a new one, so nodes do not mix the two.
INSERT INTO config_rev (id, epoch, rev)
VALUES (1, 1 + floor(random() * 9007199254740990)::INT8, 0)
ON CONFLICT (id) DO NOTHING;

-- What is in force now: a full snapshot sends this. line is the body as it goes to nodes: writing out JSONB is half of what the
-- database does when a node joins, and this is written once.
CREATE TABLE IF NOT EXISTS config_records (
    kind TEXT  NOT NULL,
    id   TEXT  NOT NULL,
    body JSONB NOT NULL,
    rev  INT8  NOT NULL,
    line TEXT  GENERATED ALWAYS AS (body::TEXT) STORED,
    CONSTRAINT config_records_pk PRIMARY KEY (kind, id)
);

-- The recent history, one row a version: a node that is not far behind is sent this.
CREATE TABLE IF NOT EXISTS config_log (
    rev  INT8        NOT NULL,
    kind TEXT        NOT NULL,
    id   TEXT        NOT NULL,
    body JSONB,
    gone BOOL        NOT NULL,
    at   TIMESTAMPTZ NOT NULL,
    CONSTRAINT config_log_pk PRIMARY KEY (rev),
    CONSTRAINT config_log_body CHECK (gone = (body IS NULL))
);
