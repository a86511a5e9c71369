-- +goose Up
-- The indexes of time alone are for removing what is old. On CockroachDB they are in shards: all writers of a cluster would write to the
-- newest end, which one node holds. The rows of a bucket would share a shard, so their apps are hashed too. What is asked for in the order
-- of time comes from all shards at once. config_log has such an end too, but one writer at a time anyway.

-- How far the usage records of a node are counted: everything below next_seq is, nothing else.
CREATE TABLE IF NOT EXISTS usage_progress (
    node_id     UUID        NOT NULL,
    incarnation TEXT        NOT NULL,
    next_seq    INT8        NOT NULL,
    updated_at  TIMESTAMPTZ NOT NULL,
    CONSTRAINT usage_progress_pk PRIMARY KEY (node_id, incarnation)
);

-- Calls per UTC minute, kept for a few days. ttft and took are sketches of durations, see package sketch. The nil UUID as app_id stands
-- for Darwin tokens, which have no app. The fill factor of it and the others leaves room in every page for the next version of its rows:
-- they change with every upload, and their indexes need not.
CREATE TABLE IF NOT EXISTS usage_minute (
    app_id     UUID        NOT NULL,
    bucket     TIMESTAMPTZ NOT NULL,
    key_id     UUID        NOT NULL,
    account_id UUID        NOT NULL,
    model      TEXT        NOT NULL,
    task       TEXT        NOT NULL,
    status     INT8        NOT NULL,
    source     TEXT        NOT NULL,
    end_reason TEXT        NOT NULL,
    calls      INT8        NOT NULL,
    errors     INT8        NOT NULL,
    tokens_in  INT8        NOT NULL,
    tokens_out INT8        NOT NULL,
    ttft       BYTEA       NOT NULL,
    took       BYTEA       NOT NULL,
    CONSTRAINT usage_minute_pk PRIMARY KEY (app_id, bucket, key_id, account_id, model, task, status, source, end_reason)
) WITH (fillfactor = 50);
CREATE INDEX IF NOT EXISTS usage_minute_account_idx ON usage_minute (account_id, bucket);
CREATE INDEX IF NOT EXISTS usage_minute_bucket_idx ON usage_minute (bucket /* CockroachDB: , app_id */) /* CockroachDB: USING HASH */;

-- Calls per UTC hour, as per minute.
CREATE TABLE IF NOT EXISTS usage_hour (
    app_id     UUID        NOT NULL,
    bucket     TIMESTAMPTZ NOT NULL,
    key_id     UUID        NOT NULL,
    account_id UUID        NOT NULL,
    model      TEXT        NOT NULL,
    task       TEXT        NOT NULL,
    status     INT8        NOT NULL,
    source     TEXT        NOT NULL,
    calls      INT8        NOT NULL,
    errors     INT8        NOT NULL,
    tokens_in  INT8        NOT NULL,
    tokens_out INT8        NOT NULL,
    end_reason TEXT        NOT NULL,
    ttft       BYTEA       NOT NULL,
    took       BYTEA       NOT NULL,
    CONSTRAINT usage_hour_pk PRIMARY KEY (app_id, bucket, key_id, account_id, model, task, status, source, end_reason)
) WITH (fillfactor = 50);
CREATE INDEX IF NOT EXISTS usage_hour_account_idx ON usage_hour (account_id, bucket);
CREATE INDEX IF NOT EXISTS usage_hour_bucket_idx ON usage_hour (bucket /* CockroachDB: , app_id */) /* CockroachDB: USING HASH */;

-- Calls per UTC day, as per minute.
CREATE TABLE IF NOT EXISTS usage_day (
    app_id     UUID        NOT NULL,
    bucket     TIMESTAMPTZ NOT NULL,
    key_id     UUID        NOT NULL,
    account_id UUID        NOT NULL,
    model      TEXT        NOT NULL,
    task       TEXT        NOT NULL,
    status     INT8        NOT NULL,
    source     TEXT        NOT NULL,
    calls      INT8        NOT NULL,
    errors     INT8        NOT NULL,
    tokens_in  INT8        NOT NULL,
    tokens_out INT8        NOT NULL,
    end_reason TEXT        NOT NULL,
    ttft       BYTEA       NOT NULL,
    took       BYTEA       NOT NULL,
    CONSTRAINT usage_day_pk PRIMARY KEY (app_id, bucket, key_id, account_id, model, task, status, source, end_reason)
) WITH (fillfactor = 50);
CREATE INDEX IF NOT EXISTS usage_day_account_idx ON usage_day (account_id, bucket);
CREATE INDEX IF NOT EXISTS usage_day_bucket_idx ON usage_day (bucket /* CockroachDB: , app_id */) /* CockroachDB: USING HASH */;

-- Calls per UTC hour of an app and account: the points of its charts, of which usage_hour has hundreds of rows each. Written with it.
CREATE TABLE IF NOT EXISTS usage_app_hour (
    app_id     UUID        NOT NULL,
    bucket     TIMESTAMPTZ NOT NULL,
    account_id UUID        NOT NULL,
    calls      INT8        NOT NULL,
    errors     INT8        NOT NULL,
    tokens_in  INT8        NOT NULL,
    tokens_out INT8        NOT NULL,
    ttft       BYTEA       NOT NULL,
    took       BYTEA       NOT NULL,
    CONSTRAINT usage_app_hour_pk PRIMARY KEY (app_id, bucket, account_id)
) WITH (fillfactor = 50);
CREATE INDEX IF NOT EXISTS usage_app_hour_account_idx ON usage_app_hour (account_id, bucket);
CREATE INDEX IF NOT EXISTS usage_app_hour_bucket_idx ON usage_app_hour (bucket /* CockroachDB: , app_id */) /* CockroachDB: USING HASH */;

-- Calls that count against the day quota of an account, by UTC day.
CREATE TABLE IF NOT EXISTS usage_account_day (
    account_id UUID NOT NULL,
    day        DATE NOT NULL,
    calls      INT8 NOT NULL,
    CONSTRAINT usage_account_day_pk PRIMARY KEY (account_id, day)
) WITH (fillfactor = 50);

-- What the nodes say they sent, by key and UTC day: what the day rollups must add up to.
CREATE TABLE IF NOT EXISTS usage_edge_day (
    app_id     UUID        NOT NULL,
    bucket     TIMESTAMPTZ NOT NULL,
    key_id     UUID        NOT NULL,
    account_id UUID        NOT NULL,
    node_id    UUID        NOT NULL,
    calls      INT8        NOT NULL,
    tokens_in  INT8        NOT NULL,
    tokens_out INT8        NOT NULL,
    CONSTRAINT usage_edge_day_pk PRIMARY KEY (app_id, bucket, key_id, account_id, node_id)
) WITH (fillfactor = 50);
CREATE INDEX IF NOT EXISTS usage_edge_day_account_idx ON usage_edge_day (account_id, bucket);
CREATE INDEX IF NOT EXISTS usage_edge_day_bucket_idx ON usage_edge_day (bucket /* CockroachDB: , app_id */) /* CockroachDB: USING HASH */;

-- The proof of each UTC day: how far the rollups are from what the nodes sent. 0 is none.
CREATE TABLE IF NOT EXISTS usage_closing (
    bucket   TIMESTAMPTZ NOT NULL,
    key_days INT8        NOT NULL,
    calls    INT8        NOT NULL,
    drift    INT8        NOT NULL,
    at       TIMESTAMPTZ NOT NULL,
    CONSTRAINT usage_closing_pk PRIMARY KEY (bucket)
);

-- The log of calls of apps, kept for a few days: nothing of their content.
CREATE TABLE IF NOT EXISTS usage_calls (
    app_id     UUID        NOT NULL,
    at         TIMESTAMPTZ NOT NULL,
    id         TEXT        NOT NULL,
    key_id     UUID        NOT NULL,
    endpoint   TEXT        NOT NULL,
    task       TEXT        NOT NULL,
    model      TEXT        NOT NULL,
    status     INT8        NOT NULL,
    end_reason TEXT        NOT NULL,
    source     TEXT        NOT NULL,
    ttft_us    INT8        NOT NULL,
    took_us    INT8        NOT NULL,
    tokens_in  INT8        NOT NULL,
    tokens_out INT8        NOT NULL,
    CONSTRAINT usage_calls_pk PRIMARY KEY (app_id, at, id)
);
CREATE INDEX IF NOT EXISTS usage_calls_at_idx ON usage_calls (at) /* CockroachDB: USING HASH */;

-- How many calls the log does not have because they were too many at once.
CREATE TABLE IF NOT EXISTS usage_calls_left (
    app_id UUID NOT NULL,
    day    DATE NOT NULL,
    calls  INT8 NOT NULL,
    CONSTRAINT usage_calls_left_pk PRIMARY KEY (app_id, day)
) WITH (fillfactor = 50);
CREATE INDEX IF NOT EXISTS usage_calls_left_day_idx ON usage_calls_left (day);

-- What nodes sent and could not be counted: single records, or whole segments that could not be read.
CREATE TABLE IF NOT EXISTS usage_rejected (
    node_id     UUID        NOT NULL,
    incarnation TEXT        NOT NULL,
    seq         INT8        NOT NULL,
    whole       BOOL        NOT NULL,
    reason      TEXT        NOT NULL,
    body        BYTEA       NOT NULL,
    times       INT8        NOT NULL,
    at          TIMESTAMPTZ NOT NULL,
    CONSTRAINT usage_rejected_pk PRIMARY KEY (node_id, incarnation, seq, whole)
);

-- Rows that are written anew with every upload. CockroachDB keeps each old version for hours by default, for reads of the past; nobody
-- reads the past of these, and a backup in steps protects what it needs by itself.
/* CockroachDB: ALTER TABLE usage_progress CONFIGURE ZONE USING gc.ttlseconds = 600 */;
/* CockroachDB: ALTER TABLE usage_minute CONFIGURE ZONE USING gc.ttlseconds = 600 */;
/* CockroachDB: ALTER TABLE usage_hour CONFIGURE ZONE USING gc.ttlseconds = 600 */;
/* CockroachDB: ALTER TABLE usage_day CONFIGURE ZONE USING gc.ttlseconds = 600 */;
/* CockroachDB: ALTER TABLE usage_app_hour CONFIGURE ZONE USING gc.ttlseconds = 600 */;
/* CockroachDB: ALTER TABLE usage_account_day CONFIGURE ZONE USING gc.ttlseconds = 600 */;
/* CockroachDB: ALTER TABLE usage_edge_day CONFIGURE ZONE USING gc.ttlseconds = 600 */;
/* CockroachDB: ALTER TABLE usage_calls_left CONFIGURE ZONE USING gc.ttlseconds = 600 */;
