CREATE TABLE account_deletions (
    developer_id uuid NOT NULL,
    requested_at timestamp with time zone NOT NULL,
    delete_at timestamp with time zone NOT NULL,
    CONSTRAINT account_deletions_pk PRIMARY KEY (developer_id),
    CONSTRAINT account_deletions_developer_fk FOREIGN KEY (developer_id) REFERENCES developers(id) ON DELETE CASCADE
);
CREATE INDEX account_deletions_due ON public.account_deletions USING btree (delete_at);

CREATE TABLE account_links (
    hash bytea NOT NULL,
    kind text NOT NULL,
    developer_id uuid,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT account_links_pk PRIMARY KEY (hash),
    CONSTRAINT account_links_developer_fk FOREIGN KEY (developer_id) REFERENCES developers(id) ON DELETE CASCADE,
    CONSTRAINT account_links_kind CHECK ((kind = ANY (ARRAY['verify'::text, 'reset'::text])))
);
CREATE INDEX account_links_developer ON public.account_links USING btree (developer_id);
CREATE INDEX account_links_expires ON public.account_links USING btree (expires_at);

CREATE TABLE account_recovery_codes (
    developer_id uuid NOT NULL,
    hash bytea NOT NULL,
    CONSTRAINT account_recovery_codes_pk PRIMARY KEY (developer_id, hash),
    CONSTRAINT account_recovery_codes_developer_fk FOREIGN KEY (developer_id) REFERENCES developers(id) ON DELETE CASCADE
);

CREATE TABLE account_totp (
    developer_id uuid NOT NULL,
    kek_id text NOT NULL,
    sealed_key bytea NOT NULL,
    nonce bytea NOT NULL,
    ciphertext bytea NOT NULL,
    last_step bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    confirmed_at timestamp with time zone,
    CONSTRAINT account_totp_pk PRIMARY KEY (developer_id),
    CONSTRAINT account_totp_developer_fk FOREIGN KEY (developer_id) REFERENCES developers(id) ON DELETE CASCADE
);

CREATE TABLE api_key_secrets (
    hash bytea NOT NULL,
    key_id uuid NOT NULL,
    version bigint NOT NULL,
    state text NOT NULL,
    not_after timestamp with time zone,
    kek_id text NOT NULL,
    sealed_key bytea NOT NULL,
    nonce bytea NOT NULL,
    ciphertext bytea NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT api_key_secrets_pk PRIMARY KEY (hash),
    CONSTRAINT api_key_secrets_key_fk FOREIGN KEY (key_id) REFERENCES api_keys(id) ON DELETE CASCADE,
    CONSTRAINT api_key_secrets_state CHECK ((state = ANY (ARRAY['active'::text, 'revoked'::text]))),
    CONSTRAINT api_key_secrets_version_key UNIQUE (key_id, version)
);
CREATE INDEX api_key_secrets_not_after_idx ON public.api_key_secrets USING btree (not_after) WHERE (not_after IS NOT NULL);

CREATE TABLE api_keys (
    id uuid NOT NULL,
    developer_id uuid NOT NULL,
    app_id uuid,
    kind text NOT NULL,
    hint text NOT NULL,
    name text NOT NULL,
    scopes text[] NOT NULL,
    metadata text NOT NULL,
    expires_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    last_used_at timestamp with time zone,
    revoked_at timestamp with time zone,
    revoked_version bigint,
    CONSTRAINT api_keys_pk PRIMARY KEY (id),
    CONSTRAINT api_keys_app CHECK (((kind = 'darwin'::text) = (app_id IS NULL))),
    CONSTRAINT api_keys_app_fk FOREIGN KEY (app_id) REFERENCES apps(id) ON DELETE CASCADE,
    CONSTRAINT api_keys_developer_fk FOREIGN KEY (developer_id) REFERENCES developers(id) ON DELETE CASCADE,
    CONSTRAINT api_keys_kind CHECK ((kind = ANY (ARRAY['test'::text, 'live'::text, 'darwin'::text])))
);
CREATE INDEX api_keys_app_idx ON public.api_keys USING btree (app_id, created_at);
CREATE INDEX api_keys_developer_idx ON public.api_keys USING btree (developer_id, created_at);

CREATE TABLE apps (
    id uuid NOT NULL,
    developer_id uuid NOT NULL,
    name text NOT NULL,
    description text NOT NULL,
    environment text NOT NULL,
    families text[] NOT NULL,
    tasks text[] NOT NULL,
    rate_limit bigint NOT NULL,
    active boolean NOT NULL,
    expires_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    org_id uuid,
    suspended_at timestamp with time zone,
    kept boolean NOT NULL DEFAULT false,
    CONSTRAINT apps_pk PRIMARY KEY (id),
    CONSTRAINT apps_developer_fk FOREIGN KEY (developer_id) REFERENCES developers(id) ON DELETE CASCADE,
    CONSTRAINT apps_environment CHECK ((environment = ANY (ARRAY['test'::text, 'live'::text]))),
    CONSTRAINT apps_org_fk FOREIGN KEY (org_id) REFERENCES organizations(id)
);
CREATE INDEX apps_developer_idx ON public.apps USING btree (developer_id, created_at);
CREATE INDEX apps_org_idx ON public.apps USING btree (org_id, created_at);

CREATE TABLE audit_chains (
    chain uuid NOT NULL,
    seq bigint NOT NULL,
    hash bytea NOT NULL,
    CONSTRAINT audit_chains_pk PRIMARY KEY (chain)
);

CREATE TABLE audit_records (
    chain uuid NOT NULL,
    seq bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    actor text NOT NULL,
    session_id text NOT NULL,
    address text NOT NULL,
    operation text NOT NULL,
    kind text NOT NULL,
    target text NOT NULL,
    before text,
    after text,
    hash bytea NOT NULL,
    CONSTRAINT audit_records_pk PRIMARY KEY (chain, seq)
);

CREATE TABLE billing_accounts (
    account_id uuid NOT NULL,
    developer_id uuid,
    org_id uuid,
    customer_id text,
    plan text NOT NULL,
    revision bigint NOT NULL,
    over_since timestamp with time zone,
    disputed_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    synced_at timestamp with time zone,
    check_at timestamp with time zone NOT NULL,
    CONSTRAINT billing_accounts_pk PRIMARY KEY (account_id),
    CONSTRAINT billing_accounts_customer_key UNIQUE (customer_id),
    CONSTRAINT billing_accounts_developer_fk FOREIGN KEY (developer_id) REFERENCES developers(id) ON DELETE CASCADE,
    CONSTRAINT billing_accounts_of_one CHECK (((account_id = COALESCE(developer_id, org_id)) AND ((developer_id IS NULL) OR (org_id IS NULL)))),
    CONSTRAINT billing_accounts_org_fk FOREIGN KEY (org_id) REFERENCES organizations(id) ON DELETE CASCADE
);
CREATE INDEX billing_accounts_check ON public.billing_accounts USING btree (check_at);
CREATE INDEX billing_accounts_developer_idx ON public.billing_accounts USING btree (developer_id);
CREATE INDEX billing_accounts_org_idx ON public.billing_accounts USING btree (org_id);

CREATE TABLE billing_checkouts (
    session_id text NOT NULL,
    account_id uuid NOT NULL,
    plan text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT billing_checkouts_pk PRIMARY KEY (session_id),
    CONSTRAINT billing_checkouts_account_fk FOREIGN KEY (account_id) REFERENCES billing_accounts(account_id) ON DELETE CASCADE
);
CREATE INDEX billing_checkouts_account ON public.billing_checkouts USING btree (account_id, created_at);

CREATE TABLE billing_events (
    id text NOT NULL,
    type text NOT NULL,
    customer_id text NOT NULL,
    object_id text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    received_at timestamp with time zone NOT NULL,
    attempts bigint NOT NULL,
    state text NOT NULL,
    reason text NOT NULL,
    next_at timestamp with time zone NOT NULL,
    CONSTRAINT billing_events_pk PRIMARY KEY (id),
    CONSTRAINT billing_events_state CHECK ((state = ANY (ARRAY['waiting'::text, 'done'::text, 'dead'::text])))
);
CREATE INDEX billing_events_done_idx ON public.billing_events USING btree (next_at) WHERE (state = 'done'::text);
CREATE INDEX billing_events_next ON public.billing_events USING btree (next_at) WHERE (state = 'waiting'::text);

CREATE TABLE billing_subscriptions (
    id text NOT NULL,
    account_id uuid NOT NULL,
    status text NOT NULL,
    plan text NOT NULL,
    billed_by text NOT NULL,
    period_end timestamp with time zone NOT NULL,
    cancel_at_period_end boolean NOT NULL,
    unpaid_since timestamp with time zone,
    CONSTRAINT billing_subscriptions_pk PRIMARY KEY (id),
    CONSTRAINT billing_subscriptions_account_fk FOREIGN KEY (account_id) REFERENCES billing_accounts(account_id) ON DELETE CASCADE
);
CREATE INDEX billing_subscriptions_account ON public.billing_subscriptions USING btree (account_id);

CREATE TABLE call_replays (
    scope_id uuid NOT NULL,
    key_hash bytea NOT NULL,
    request_hash bytea NOT NULL,
    key_id uuid NOT NULL,
    claim_id uuid NOT NULL,
    running boolean NOT NULL,
    lease_until timestamp with time zone NOT NULL,
    created_at timestamp with time zone NOT NULL,
    size bigint NOT NULL,
    kek_id text NOT NULL,
    sealed_key bytea NOT NULL,
    nonce bytea NOT NULL,
    ciphertext bytea NOT NULL,
    CONSTRAINT call_replays_pk PRIMARY KEY (scope_id, key_hash),
    CONSTRAINT call_replays_claim_uq UNIQUE (claim_id),
    CONSTRAINT call_replays_key_fk FOREIGN KEY (key_id) REFERENCES api_keys(id) ON DELETE CASCADE
);
CREATE INDEX call_replays_created_idx ON public.call_replays USING btree (created_at);
CREATE INDEX call_replays_key_idx ON public.call_replays USING btree (key_id);
CREATE INDEX call_replays_scope_idx ON public.call_replays USING btree (scope_id, created_at, size);

CREATE TABLE config_log (
    rev bigint NOT NULL,
    kind text NOT NULL,
    id text NOT NULL,
    body jsonb,
    gone boolean NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT config_log_pk PRIMARY KEY (rev),
    CONSTRAINT config_log_body CHECK ((gone = (body IS NULL)))
);

CREATE TABLE config_records (
    kind text NOT NULL,
    id text NOT NULL,
    body jsonb NOT NULL,
    rev bigint NOT NULL,
    line text GENERATED ALWAYS AS ((body)::text) STORED,
    CONSTRAINT config_records_pk PRIMARY KEY (kind, id)
);

CREATE TABLE config_rev (
    id bigint NOT NULL,
    epoch bigint NOT NULL,
    rev bigint NOT NULL,
    CONSTRAINT config_rev_pk PRIMARY KEY (id),
    CONSTRAINT config_rev_single CHECK ((id = 1))
);

CREATE TABLE developers (
    id uuid NOT NULL,
    name text NOT NULL,
    email text NOT NULL,
    password_hash text NOT NULL,
    plan text NOT NULL,
    per_minute bigint,
    per_day bigint,
    verified_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    google_sub text,
    in_flight bigint,
    tokens_per_minute bigint,
    CONSTRAINT developers_pk PRIMARY KEY (id),
    CONSTRAINT developers_email_key UNIQUE (email)
);
CREATE UNIQUE INDEX developers_google_sub_key ON public.developers USING btree (google_sub);

CREATE TABLE key_reads (
    id uuid NOT NULL,
    key_id uuid NOT NULL,
    developer_id uuid NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT key_reads_pk PRIMARY KEY (id),
    CONSTRAINT key_reads_key_fk FOREIGN KEY (key_id) REFERENCES api_keys(id) ON DELETE CASCADE
);
CREATE INDEX key_reads_at_idx ON public.key_reads USING btree (at);
CREATE INDEX key_reads_developer ON public.key_reads USING btree (developer_id, at);
CREATE INDEX key_reads_key_idx ON public.key_reads USING btree (key_id);

CREATE TABLE key_requests (
    developer_id uuid NOT NULL,
    idempotency_hash bytea NOT NULL,
    request_hash bytea NOT NULL,
    key_id uuid NOT NULL,
    value_hash bytea NOT NULL,
    version bigint NOT NULL,
    previous_until timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT key_requests_pk PRIMARY KEY (developer_id, idempotency_hash),
    CONSTRAINT key_requests_developer_fk FOREIGN KEY (developer_id) REFERENCES developers(id) ON DELETE CASCADE,
    CONSTRAINT key_requests_value_fk FOREIGN KEY (value_hash) REFERENCES api_key_secrets(hash) ON DELETE CASCADE
);
CREATE INDEX key_requests_created_idx ON public.key_requests USING btree (created_at);
CREATE INDEX key_requests_value_idx ON public.key_requests USING btree (value_hash);

CREATE TABLE leases (
    name text NOT NULL,
    holder text NOT NULL,
    until timestamp with time zone NOT NULL,
    CONSTRAINT leases_pk PRIMARY KEY (name)
);

CREATE TABLE mail_outbox (
    id uuid NOT NULL,
    recipient text NOT NULL,
    template text NOT NULL,
    kek_id text NOT NULL,
    sealed_key bytea NOT NULL,
    nonce bytea NOT NULL,
    ciphertext bytea NOT NULL,
    attempts bigint NOT NULL,
    reason text NOT NULL,
    next_at timestamp with time zone NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    dead_at timestamp with time zone,
    CONSTRAINT mail_outbox_pk PRIMARY KEY (id)
);
CREATE INDEX mail_outbox_dead_idx ON public.mail_outbox USING btree (dead_at) WHERE (dead_at IS NOT NULL);
CREATE INDEX mail_outbox_next ON public.mail_outbox USING btree (next_at) WHERE (dead_at IS NULL);
CREATE INDEX mail_outbox_recipient_idx ON public.mail_outbox USING btree (recipient);

CREATE TABLE nodes (
    id uuid NOT NULL,
    name text NOT NULL,
    secret_hash bytea NOT NULL,
    build text NOT NULL,
    joined_at timestamp with time zone NOT NULL,
    last_seen_at timestamp with time zone NOT NULL,
    acked_epoch bigint,
    acked_version bigint,
    acked_at timestamp with time zone,
    keys_held bigint,
    forgotten_at timestamp with time zone,
    CONSTRAINT nodes_pk PRIMARY KEY (id),
    CONSTRAINT nodes_name_key UNIQUE (name),
    CONSTRAINT nodes_secret_hash_key UNIQUE (secret_hash)
);

CREATE TABLE org_invites (
    id uuid NOT NULL,
    org_id uuid NOT NULL,
    email text NOT NULL,
    role text NOT NULL,
    status text NOT NULL,
    inviter text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT org_invites_pk PRIMARY KEY (id),
    CONSTRAINT org_invites_org_fk FOREIGN KEY (org_id) REFERENCES organizations(id) ON DELETE CASCADE,
    CONSTRAINT org_invites_role CHECK ((role = ANY (ARRAY['owner'::text, 'admin'::text, 'developer'::text, 'billing'::text, 'viewer'::text]))),
    CONSTRAINT org_invites_status CHECK ((status = ANY (ARRAY['pending'::text, 'accepted'::text, 'revoked'::text])))
);
CREATE INDEX org_invites_org_idx ON public.org_invites USING btree (org_id, created_at);

CREATE TABLE org_members (
    developer_id uuid NOT NULL,
    org_id uuid NOT NULL,
    role text NOT NULL,
    joined_at timestamp with time zone NOT NULL,
    CONSTRAINT org_members_pk PRIMARY KEY (developer_id),
    CONSTRAINT org_members_developer_fk FOREIGN KEY (developer_id) REFERENCES developers(id) ON DELETE CASCADE,
    CONSTRAINT org_members_org_fk FOREIGN KEY (org_id) REFERENCES organizations(id) ON DELETE CASCADE,
    CONSTRAINT org_members_role CHECK ((role = ANY (ARRAY['owner'::text, 'admin'::text, 'developer'::text, 'billing'::text, 'viewer'::text])))
);
CREATE INDEX org_members_org_idx ON public.org_members USING btree (org_id, joined_at);

CREATE TABLE organizations (
    id uuid NOT NULL,
    name text NOT NULL,
    plan text NOT NULL,
    per_minute bigint,
    per_day bigint,
    created_at timestamp with time zone NOT NULL,
    sponsor_id uuid,
    in_flight bigint,
    tokens_per_minute bigint,
    CONSTRAINT organizations_pk PRIMARY KEY (id),
    CONSTRAINT organizations_sponsor_fk FOREIGN KEY (sponsor_id) REFERENCES developers(id) ON DELETE SET NULL
);
CREATE INDEX organizations_sponsor_idx ON public.organizations USING btree (sponsor_id);

CREATE TABLE playground_cameras (
    developer_id uuid NOT NULL,
    session_id text NOT NULL,
    camera_id text NOT NULL,
    homography double precision[] NOT NULL,
    inliers bigint NOT NULL,
    total_points bigint NOT NULL,
    calibrated_at timestamp with time zone NOT NULL,
    CONSTRAINT playground_cameras_pk PRIMARY KEY (developer_id, session_id, camera_id),
    CONSTRAINT playground_cameras_developer_fk FOREIGN KEY (developer_id) REFERENCES developers(id) ON DELETE CASCADE
);
CREATE INDEX playground_cameras_calibrated_idx ON public.playground_cameras USING btree (calibrated_at);

CREATE TABLE public_counter_state (
    id bigint NOT NULL,
    since timestamp with time zone NOT NULL,
    dropped bigint NOT NULL,
    CONSTRAINT public_counter_state_pk PRIMARY KEY (id),
    CONSTRAINT public_counter_state_single CHECK ((id = 1))
);

CREATE TABLE public_counters (
    name text NOT NULL,
    count bigint NOT NULL,
    CONSTRAINT public_counters_pk PRIMARY KEY (name),
    CONSTRAINT public_counters_name_short CHECK (((length(name) >= 1) AND (length(name) <= 64)))
);

CREATE TABLE session_refreshes (
    hash bytea NOT NULL,
    session_id uuid NOT NULL,
    created_at timestamp with time zone NOT NULL,
    used_at timestamp with time zone,
    CONSTRAINT session_refreshes_pk PRIMARY KEY (hash),
    CONSTRAINT session_refreshes_session_fk FOREIGN KEY (session_id) REFERENCES sessions(id) ON DELETE CASCADE
);
CREATE INDEX session_refreshes_session ON public.session_refreshes USING btree (session_id);
CREATE INDEX session_refreshes_used_idx ON public.session_refreshes USING btree (used_at) WHERE (used_at IS NOT NULL);

CREATE TABLE sessions (
    id uuid NOT NULL,
    developer_id uuid NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    address text NOT NULL DEFAULT ''::text,
    user_agent text NOT NULL DEFAULT ''::text,
    used_at timestamp with time zone,
    CONSTRAINT sessions_pk PRIMARY KEY (id),
    CONSTRAINT sessions_developer_fk FOREIGN KEY (developer_id) REFERENCES developers(id) ON DELETE CASCADE
);
CREATE INDEX sessions_developer_idx ON public.sessions USING btree (developer_id, created_at);
CREATE INDEX sessions_expires_idx ON public.sessions USING btree (expires_at);

CREATE TABLE usage_account_day (
    account_id uuid NOT NULL,
    day date NOT NULL,
    calls bigint NOT NULL,
    CONSTRAINT usage_account_day_pk PRIMARY KEY (account_id, day)
) WITH (fillfactor=50);

CREATE TABLE usage_alert_deliveries (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    day date NOT NULL,
    threshold bigint NOT NULL,
    body text NOT NULL,
    state text NOT NULL,
    reason text NOT NULL,
    attempts bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    next_at timestamp with time zone NOT NULL,
    CONSTRAINT usage_alert_deliveries_pk PRIMARY KEY (id),
    CONSTRAINT usage_alert_deliveries_account_fk FOREIGN KEY (account_id) REFERENCES usage_alerts(account_id) ON DELETE CASCADE,
    CONSTRAINT usage_alert_deliveries_state CHECK ((state = ANY (ARRAY['waiting'::text, 'done'::text, 'dead'::text])))
);
CREATE INDEX usage_alert_deliveries_account ON public.usage_alert_deliveries USING btree (account_id, created_at);
CREATE INDEX usage_alert_deliveries_ended_idx ON public.usage_alert_deliveries USING btree (next_at) WHERE (state <> 'waiting'::text);
CREATE INDEX usage_alert_deliveries_next ON public.usage_alert_deliveries USING btree (next_at) WHERE (state = 'waiting'::text);

CREATE TABLE usage_alerts (
    account_id uuid NOT NULL,
    developer_id uuid,
    org_id uuid,
    thresholds bigint[] NOT NULL,
    mail boolean NOT NULL,
    webhook_url text NOT NULL,
    kek_id text NOT NULL,
    sealed_key bytea NOT NULL,
    nonce bytea NOT NULL,
    ciphertext bytea NOT NULL,
    told_day date,
    told bigint NOT NULL,
    CONSTRAINT usage_alerts_pk PRIMARY KEY (account_id),
    CONSTRAINT usage_alerts_developer_fk FOREIGN KEY (developer_id) REFERENCES developers(id) ON DELETE CASCADE,
    CONSTRAINT usage_alerts_of_one CHECK (((account_id = COALESCE(developer_id, org_id)) AND ((developer_id IS NULL) OR (org_id IS NULL)))),
    CONSTRAINT usage_alerts_org_fk FOREIGN KEY (org_id) REFERENCES organizations(id) ON DELETE CASCADE
);
CREATE INDEX usage_alerts_developer_idx ON public.usage_alerts USING btree (developer_id);
CREATE INDEX usage_alerts_org_idx ON public.usage_alerts USING btree (org_id);

CREATE TABLE usage_app_hour (
    app_id uuid NOT NULL,
    bucket timestamp with time zone NOT NULL,
    account_id uuid NOT NULL,
    calls bigint NOT NULL,
    errors bigint NOT NULL,
    tokens_in bigint NOT NULL,
    tokens_out bigint NOT NULL,
    ttft bytea NOT NULL,
    took bytea NOT NULL,
    CONSTRAINT usage_app_hour_pk PRIMARY KEY (app_id, bucket, account_id)
) WITH (fillfactor=50);
CREATE INDEX usage_app_hour_account_idx ON public.usage_app_hour USING btree (account_id, bucket);
CREATE INDEX usage_app_hour_bucket_idx ON public.usage_app_hour USING btree (bucket);

CREATE TABLE usage_calls (
    app_id uuid NOT NULL,
    at timestamp with time zone NOT NULL,
    id text NOT NULL,
    key_id uuid NOT NULL,
    endpoint text NOT NULL,
    task text NOT NULL,
    model text NOT NULL,
    status bigint NOT NULL,
    end_reason text NOT NULL,
    source text NOT NULL,
    ttft_us bigint NOT NULL,
    took_us bigint NOT NULL,
    tokens_in bigint NOT NULL,
    tokens_out bigint NOT NULL,
    CONSTRAINT usage_calls_pk PRIMARY KEY (app_id, at, id)
);
CREATE INDEX usage_calls_at_idx ON public.usage_calls USING btree (at);

CREATE TABLE usage_calls_left (
    app_id uuid NOT NULL,
    day date NOT NULL,
    calls bigint NOT NULL,
    CONSTRAINT usage_calls_left_pk PRIMARY KEY (app_id, day)
) WITH (fillfactor=50);
CREATE INDEX usage_calls_left_day_idx ON public.usage_calls_left USING btree (day);

CREATE TABLE usage_closing (
    bucket timestamp with time zone NOT NULL,
    key_days bigint NOT NULL,
    calls bigint NOT NULL,
    drift bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT usage_closing_pk PRIMARY KEY (bucket)
);

CREATE TABLE usage_day (
    app_id uuid NOT NULL,
    bucket timestamp with time zone NOT NULL,
    key_id uuid NOT NULL,
    account_id uuid NOT NULL,
    model text NOT NULL,
    task text NOT NULL,
    status bigint NOT NULL,
    source text NOT NULL,
    calls bigint NOT NULL,
    errors bigint NOT NULL,
    tokens_in bigint NOT NULL,
    tokens_out bigint NOT NULL,
    end_reason text NOT NULL,
    ttft bytea NOT NULL,
    took bytea NOT NULL,
    CONSTRAINT usage_day_pk PRIMARY KEY (app_id, bucket, key_id, account_id, model, task, status, source, end_reason)
) WITH (fillfactor=50);
CREATE INDEX usage_day_account_idx ON public.usage_day USING btree (account_id, bucket);
CREATE INDEX usage_day_bucket_idx ON public.usage_day USING btree (bucket);

CREATE TABLE usage_edge_day (
    app_id uuid NOT NULL,
    bucket timestamp with time zone NOT NULL,
    key_id uuid NOT NULL,
    account_id uuid NOT NULL,
    node_id uuid NOT NULL,
    calls bigint NOT NULL,
    tokens_in bigint NOT NULL,
    tokens_out bigint NOT NULL,
    CONSTRAINT usage_edge_day_pk PRIMARY KEY (app_id, bucket, key_id, account_id, node_id)
) WITH (fillfactor=50);
CREATE INDEX usage_edge_day_account_idx ON public.usage_edge_day USING btree (account_id, bucket);
CREATE INDEX usage_edge_day_bucket_idx ON public.usage_edge_day USING btree (bucket);

CREATE TABLE usage_hour (
    app_id uuid NOT NULL,
    bucket timestamp with time zone NOT NULL,
    key_id uuid NOT NULL,
    account_id uuid NOT NULL,
    model text NOT NULL,
    task text NOT NULL,
    status bigint NOT NULL,
    source text NOT NULL,
    calls bigint NOT NULL,
    errors bigint NOT NULL,
    tokens_in bigint NOT NULL,
    tokens_out bigint NOT NULL,
    end_reason text NOT NULL,
    ttft bytea NOT NULL,
    took bytea NOT NULL,
    CONSTRAINT usage_hour_pk PRIMARY KEY (app_id, bucket, key_id, account_id, model, task, status, source, end_reason)
) WITH (fillfactor=50);
CREATE INDEX usage_hour_account_idx ON public.usage_hour USING btree (account_id, bucket);
CREATE INDEX usage_hour_bucket_idx ON public.usage_hour USING btree (bucket);

CREATE TABLE usage_minute (
    app_id uuid NOT NULL,
    bucket timestamp with time zone NOT NULL,
    key_id uuid NOT NULL,
    account_id uuid NOT NULL,
    model text NOT NULL,
    task text NOT NULL,
    status bigint NOT NULL,
    source text NOT NULL,
    end_reason text NOT NULL,
    calls bigint NOT NULL,
    errors bigint NOT NULL,
    tokens_in bigint NOT NULL,
    tokens_out bigint NOT NULL,
    ttft bytea NOT NULL,
    took bytea NOT NULL,
    CONSTRAINT usage_minute_pk PRIMARY KEY (app_id, bucket, key_id, account_id, model, task, status, source, end_reason)
) WITH (fillfactor=50);
CREATE INDEX usage_minute_account_idx ON public.usage_minute USING btree (account_id, bucket);
CREATE INDEX usage_minute_bucket_idx ON public.usage_minute USING btree (bucket);

CREATE TABLE usage_progress (
    node_id uuid NOT NULL,
    incarnation text NOT NULL,
    next_seq bigint NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT usage_progress_pk PRIMARY KEY (node_id, incarnation)
);

CREATE TABLE usage_rejected (
    node_id uuid NOT NULL,
    incarnation text NOT NULL,
    seq bigint NOT NULL,
    whole boolean NOT NULL,
    reason text NOT NULL,
    body bytea NOT NULL,
    times bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT usage_rejected_pk PRIMARY KEY (node_id, incarnation, seq, whole)
);

