CREATE TABLE public.config_rev (
	id INT8 NOT NULL,
	epoch INT8 NOT NULL,
	rev INT8 NOT NULL,
	CONSTRAINT config_rev_pk PRIMARY KEY (id ASC),
	CONSTRAINT config_rev_single CHECK (id = 1:::INT8)
) WITH (schema_locked = true);
CREATE TABLE public.config_records (
	kind STRING NOT NULL,
	id STRING NOT NULL,
	body JSONB NOT NULL,
	rev INT8 NOT NULL,
	line STRING NULL AS (body::STRING) STORED,
	CONSTRAINT config_records_pk PRIMARY KEY (kind ASC, id ASC)
) WITH (schema_locked = true);
CREATE TABLE public.config_log (
	rev INT8 NOT NULL,
	kind STRING NOT NULL,
	id STRING NOT NULL,
	body JSONB NULL,
	gone BOOL NOT NULL,
	at TIMESTAMPTZ NOT NULL,
	CONSTRAINT config_log_pk PRIMARY KEY (rev ASC),
	CONSTRAINT config_log_body CHECK (gone = (body IS NULL))
) WITH (schema_locked = true);
CREATE TABLE public.developers (
	id UUID NOT NULL,
	name STRING NOT NULL,
	email STRING NOT NULL,
	password_hash STRING NOT NULL,
	plan STRING NOT NULL,
	per_minute INT8 NULL,
	per_day INT8 NULL,
	verified_at TIMESTAMPTZ NULL,
	created_at TIMESTAMPTZ NOT NULL,
	google_sub STRING NULL,
	in_flight INT8 NULL,
	tokens_per_minute INT8 NULL,
	CONSTRAINT developers_pk PRIMARY KEY (id ASC),
	UNIQUE INDEX developers_email_key (email ASC),
	UNIQUE INDEX developers_google_sub_key (google_sub ASC)
) WITH (schema_locked = true);
CREATE TABLE public.sessions (
	id UUID NOT NULL,
	developer_id UUID NOT NULL,
	created_at TIMESTAMPTZ NOT NULL,
	expires_at TIMESTAMPTZ NOT NULL,
	address STRING NOT NULL DEFAULT '':::STRING,
	user_agent STRING NOT NULL DEFAULT '':::STRING,
	used_at TIMESTAMPTZ NULL,
	CONSTRAINT sessions_pk PRIMARY KEY (id ASC),
	INDEX sessions_developer_idx (developer_id ASC, created_at ASC),
	INDEX sessions_expires_idx (expires_at ASC)
) WITH (schema_locked = true);
CREATE TABLE public.session_refreshes (
	hash BYTES NOT NULL,
	session_id UUID NOT NULL,
	created_at TIMESTAMPTZ NOT NULL,
	used_at TIMESTAMPTZ NULL,
	CONSTRAINT session_refreshes_pk PRIMARY KEY (hash ASC),
	INDEX session_refreshes_session (session_id ASC),
	INDEX session_refreshes_used_idx (used_at ASC) WHERE used_at IS NOT NULL
) WITH (schema_locked = true);
CREATE TABLE public.account_links (
	hash BYTES NOT NULL,
	kind STRING NOT NULL,
	developer_id UUID NULL,
	created_at TIMESTAMPTZ NOT NULL,
	expires_at TIMESTAMPTZ NOT NULL,
	CONSTRAINT account_links_pk PRIMARY KEY (hash ASC),
	INDEX account_links_developer (developer_id ASC),
	INDEX account_links_expires (expires_at ASC),
	CONSTRAINT account_links_kind CHECK (kind IN ('verify':::STRING, 'reset':::STRING))
) WITH (schema_locked = true);
CREATE TABLE public.account_totp (
	developer_id UUID NOT NULL,
	kek_id STRING NOT NULL,
	sealed_key BYTES NOT NULL,
	nonce BYTES NOT NULL,
	ciphertext BYTES NOT NULL,
	last_step INT8 NOT NULL,
	created_at TIMESTAMPTZ NOT NULL,
	confirmed_at TIMESTAMPTZ NULL,
	CONSTRAINT account_totp_pk PRIMARY KEY (developer_id ASC)
) WITH (schema_locked = true);
CREATE TABLE public.account_recovery_codes (
	developer_id UUID NOT NULL,
	hash BYTES NOT NULL,
	CONSTRAINT account_recovery_codes_pk PRIMARY KEY (developer_id ASC, hash ASC)
) WITH (schema_locked = true);
CREATE TABLE public.account_deletions (
	developer_id UUID NOT NULL,
	requested_at TIMESTAMPTZ NOT NULL,
	delete_at TIMESTAMPTZ NOT NULL,
	CONSTRAINT account_deletions_pk PRIMARY KEY (developer_id ASC),
	INDEX account_deletions_due (delete_at ASC)
) WITH (schema_locked = true);
CREATE TABLE public.organizations (
	id UUID NOT NULL,
	name STRING NOT NULL,
	plan STRING NOT NULL,
	per_minute INT8 NULL,
	per_day INT8 NULL,
	created_at TIMESTAMPTZ NOT NULL,
	sponsor_id UUID NULL,
	in_flight INT8 NULL,
	tokens_per_minute INT8 NULL,
	CONSTRAINT organizations_pk PRIMARY KEY (id ASC),
	INDEX organizations_sponsor_idx (sponsor_id ASC)
) WITH (schema_locked = true);
CREATE TABLE public.org_members (
	developer_id UUID NOT NULL,
	org_id UUID NOT NULL,
	"role" STRING NOT NULL,
	joined_at TIMESTAMPTZ NOT NULL,
	CONSTRAINT org_members_pk PRIMARY KEY (developer_id ASC),
	INDEX org_members_org_idx (org_id ASC, joined_at ASC),
	CONSTRAINT org_members_role CHECK ("role" IN ('owner':::STRING, 'admin':::STRING, 'developer':::STRING, 'billing':::STRING, 'viewer':::STRING))
) WITH (schema_locked = true);
CREATE TABLE public.org_invites (
	id UUID NOT NULL,
	org_id UUID NOT NULL,
	email STRING NOT NULL,
	"role" STRING NOT NULL,
	status STRING NOT NULL,
	inviter STRING NOT NULL,
	created_at TIMESTAMPTZ NOT NULL,
	expires_at TIMESTAMPTZ NOT NULL,
	CONSTRAINT org_invites_pk PRIMARY KEY (id ASC),
	INDEX org_invites_org_idx (org_id ASC, created_at ASC),
	CONSTRAINT org_invites_role CHECK ("role" IN ('owner':::STRING, 'admin':::STRING, 'developer':::STRING, 'billing':::STRING, 'viewer':::STRING)),
	CONSTRAINT org_invites_status CHECK (status IN ('pending':::STRING, 'accepted':::STRING, 'revoked':::STRING))
) WITH (schema_locked = true);
CREATE TABLE public.apps (
	id UUID NOT NULL,
	developer_id UUID NOT NULL,
	name STRING NOT NULL,
	description STRING NOT NULL,
	environment STRING NOT NULL,
	families STRING[] NOT NULL,
	tasks STRING[] NOT NULL,
	rate_limit INT8 NOT NULL,
	active BOOL NOT NULL,
	expires_at TIMESTAMPTZ NULL,
	created_at TIMESTAMPTZ NOT NULL,
	updated_at TIMESTAMPTZ NOT NULL,
	org_id UUID NULL,
	suspended_at TIMESTAMPTZ NULL,
	kept BOOL NOT NULL DEFAULT false,
	CONSTRAINT apps_pk PRIMARY KEY (id ASC),
	INDEX apps_developer_idx (developer_id ASC, created_at ASC),
	INDEX apps_org_idx (org_id ASC, created_at ASC),
	CONSTRAINT apps_environment CHECK (environment IN ('test':::STRING, 'live':::STRING))
) WITH (schema_locked = true);
CREATE TABLE public.api_keys (
	id UUID NOT NULL,
	developer_id UUID NOT NULL,
	app_id UUID NULL,
	kind STRING NOT NULL,
	hint STRING NOT NULL,
	name STRING NOT NULL,
	scopes STRING[] NOT NULL,
	metadata STRING NOT NULL,
	expires_at TIMESTAMPTZ NULL,
	created_at TIMESTAMPTZ NOT NULL,
	last_used_at TIMESTAMPTZ NULL,
	revoked_at TIMESTAMPTZ NULL,
	revoked_version INT8 NULL,
	CONSTRAINT api_keys_pk PRIMARY KEY (id ASC),
	INDEX api_keys_app_idx (app_id ASC, created_at ASC),
	INDEX api_keys_developer_idx (developer_id ASC, created_at ASC),
	CONSTRAINT api_keys_kind CHECK (kind IN ('test':::STRING, 'live':::STRING, 'darwin':::STRING)),
	CONSTRAINT api_keys_app CHECK ((kind = 'darwin':::STRING) = (app_id IS NULL))
) WITH (schema_locked = true);
CREATE TABLE public.api_key_secrets (
	hash BYTES NOT NULL,
	key_id UUID NOT NULL,
	version INT8 NOT NULL,
	state STRING NOT NULL,
	not_after TIMESTAMPTZ NULL,
	kek_id STRING NOT NULL,
	sealed_key BYTES NOT NULL,
	nonce BYTES NOT NULL,
	ciphertext BYTES NOT NULL,
	created_at TIMESTAMPTZ NOT NULL,
	CONSTRAINT api_key_secrets_pk PRIMARY KEY (hash ASC),
	UNIQUE INDEX api_key_secrets_version_key (key_id ASC, version ASC),
	INDEX api_key_secrets_not_after_idx (not_after ASC) WHERE not_after IS NOT NULL,
	CONSTRAINT api_key_secrets_state CHECK (state IN ('active':::STRING, 'revoked':::STRING))
) WITH (schema_locked = true);
CREATE TABLE public.key_reads (
	id UUID NOT NULL,
	key_id UUID NOT NULL,
	developer_id UUID NOT NULL,
	at TIMESTAMPTZ NOT NULL,
	CONSTRAINT key_reads_pk PRIMARY KEY (id ASC),
	INDEX key_reads_at_idx (at ASC),
	INDEX key_reads_key_idx (key_id ASC),
	INDEX key_reads_developer (developer_id ASC, at ASC)
) WITH (schema_locked = true);
CREATE TABLE public.key_requests (
	developer_id UUID NOT NULL,
	idempotency_hash BYTES NOT NULL,
	request_hash BYTES NOT NULL,
	key_id UUID NOT NULL,
	value_hash BYTES NOT NULL,
	version INT8 NOT NULL,
	previous_until TIMESTAMPTZ NULL,
	created_at TIMESTAMPTZ NOT NULL,
	crdb_internal_created_at_shard_16 INT8 NOT VISIBLE NOT NULL AS (mod(fnv32(md5(crdb_internal.datums_to_bytes(created_at))), 16:::INT8)) VIRTUAL,
	CONSTRAINT key_requests_pk PRIMARY KEY (developer_id ASC, idempotency_hash ASC),
	INDEX key_requests_created_idx (created_at ASC) USING HASH WITH (bucket_count=16),
	INDEX key_requests_value_idx (value_hash ASC)
) WITH (schema_locked = true);
CREATE TABLE public.nodes (
	id UUID NOT NULL,
	name STRING NOT NULL,
	secret_hash BYTES NOT NULL,
	build STRING NOT NULL,
	joined_at TIMESTAMPTZ NOT NULL,
	last_seen_at TIMESTAMPTZ NOT NULL,
	acked_epoch INT8 NULL,
	acked_version INT8 NULL,
	acked_at TIMESTAMPTZ NULL,
	keys_held INT8 NULL,
	forgotten_at TIMESTAMPTZ NULL,
	CONSTRAINT nodes_pk PRIMARY KEY (id ASC),
	UNIQUE INDEX nodes_name_key (name ASC),
	UNIQUE INDEX nodes_secret_hash_key (secret_hash ASC)
) WITH (schema_locked = true);
CREATE TABLE public.leases (
	name STRING NOT NULL,
	holder STRING NOT NULL,
	until TIMESTAMPTZ NOT NULL,
	CONSTRAINT leases_pk PRIMARY KEY (name ASC)
) WITH (schema_locked = true);
CREATE TABLE public.usage_progress (
	node_id UUID NOT NULL,
	incarnation STRING NOT NULL,
	next_seq INT8 NOT NULL,
	updated_at TIMESTAMPTZ NOT NULL,
	CONSTRAINT usage_progress_pk PRIMARY KEY (node_id ASC, incarnation ASC)
) WITH (schema_locked = true);
CREATE TABLE public.usage_minute (
	app_id UUID NOT NULL,
	bucket TIMESTAMPTZ NOT NULL,
	key_id UUID NOT NULL,
	account_id UUID NOT NULL,
	model STRING NOT NULL,
	task STRING NOT NULL,
	status INT8 NOT NULL,
	source STRING NOT NULL,
	end_reason STRING NOT NULL,
	calls INT8 NOT NULL,
	errors INT8 NOT NULL,
	tokens_in INT8 NOT NULL,
	tokens_out INT8 NOT NULL,
	ttft BYTES NOT NULL,
	took BYTES NOT NULL,
	crdb_internal_app_id_bucket_shard_16 INT8 NOT VISIBLE NOT NULL AS (mod(fnv32(md5(crdb_internal.datums_to_bytes(app_id, bucket))), 16:::INT8)) VIRTUAL,
	CONSTRAINT usage_minute_pk PRIMARY KEY (app_id ASC, bucket ASC, key_id ASC, account_id ASC, model ASC, task ASC, status ASC, source ASC, end_reason ASC),
	INDEX usage_minute_account_idx (account_id ASC, bucket ASC),
	INDEX usage_minute_bucket_idx (bucket ASC, app_id ASC) USING HASH WITH (bucket_count=16)
) WITH (schema_locked = true);
CREATE TABLE public.usage_hour (
	app_id UUID NOT NULL,
	bucket TIMESTAMPTZ NOT NULL,
	key_id UUID NOT NULL,
	account_id UUID NOT NULL,
	model STRING NOT NULL,
	task STRING NOT NULL,
	status INT8 NOT NULL,
	source STRING NOT NULL,
	calls INT8 NOT NULL,
	errors INT8 NOT NULL,
	tokens_in INT8 NOT NULL,
	tokens_out INT8 NOT NULL,
	end_reason STRING NOT NULL,
	ttft BYTES NOT NULL,
	took BYTES NOT NULL,
	crdb_internal_app_id_bucket_shard_16 INT8 NOT VISIBLE NOT NULL AS (mod(fnv32(md5(crdb_internal.datums_to_bytes(app_id, bucket))), 16:::INT8)) VIRTUAL,
	CONSTRAINT usage_hour_pk PRIMARY KEY (app_id ASC, bucket ASC, key_id ASC, account_id ASC, model ASC, task ASC, status ASC, source ASC, end_reason ASC),
	INDEX usage_hour_account_idx (account_id ASC, bucket ASC),
	INDEX usage_hour_bucket_idx (bucket ASC, app_id ASC) USING HASH WITH (bucket_count=16)
) WITH (schema_locked = true);
CREATE TABLE public.usage_day (
	app_id UUID NOT NULL,
	bucket TIMESTAMPTZ NOT NULL,
	key_id UUID NOT NULL,
	account_id UUID NOT NULL,
	model STRING NOT NULL,
	task STRING NOT NULL,
	status INT8 NOT NULL,
	source STRING NOT NULL,
	calls INT8 NOT NULL,
	errors INT8 NOT NULL,
	tokens_in INT8 NOT NULL,
	tokens_out INT8 NOT NULL,
	end_reason STRING NOT NULL,
	ttft BYTES NOT NULL,
	took BYTES NOT NULL,
	crdb_internal_app_id_bucket_shard_16 INT8 NOT VISIBLE NOT NULL AS (mod(fnv32(md5(crdb_internal.datums_to_bytes(app_id, bucket))), 16:::INT8)) VIRTUAL,
	CONSTRAINT usage_day_pk PRIMARY KEY (app_id ASC, bucket ASC, key_id ASC, account_id ASC, model ASC, task ASC, status ASC, source ASC, end_reason ASC),
	INDEX usage_day_account_idx (account_id ASC, bucket ASC),
	INDEX usage_day_bucket_idx (bucket ASC, app_id ASC) USING HASH WITH (bucket_count=16)
) WITH (schema_locked = true);
CREATE TABLE public.usage_app_hour (
	app_id UUID NOT NULL,
	bucket TIMESTAMPTZ NOT NULL,
	account_id UUID NOT NULL,
	calls INT8 NOT NULL,
	errors INT8 NOT NULL,
	tokens_in INT8 NOT NULL,
	tokens_out INT8 NOT NULL,
	ttft BYTES NOT NULL,
	took BYTES NOT NULL,
	crdb_internal_app_id_bucket_shard_16 INT8 NOT VISIBLE NOT NULL AS (mod(fnv32(md5(crdb_internal.datums_to_bytes(app_id, bucket))), 16:::INT8)) VIRTUAL,
	CONSTRAINT usage_app_hour_pk PRIMARY KEY (app_id ASC, bucket ASC, account_id ASC),
	INDEX usage_app_hour_account_idx (account_id ASC, bucket ASC),
	INDEX usage_app_hour_bucket_idx (bucket ASC, app_id ASC) USING HASH WITH (bucket_count=16)
) WITH (schema_locked = true);
CREATE TABLE public.usage_account_day (
	account_id UUID NOT NULL,
	day DATE NOT NULL,
	calls INT8 NOT NULL,
	CONSTRAINT usage_account_day_pk PRIMARY KEY (account_id ASC, day ASC)
) WITH (schema_locked = true);
CREATE TABLE public.usage_edge_day (
	app_id UUID NOT NULL,
	bucket TIMESTAMPTZ NOT NULL,
	key_id UUID NOT NULL,
	account_id UUID NOT NULL,
	node_id UUID NOT NULL,
	calls INT8 NOT NULL,
	tokens_in INT8 NOT NULL,
	tokens_out INT8 NOT NULL,
	crdb_internal_app_id_bucket_shard_16 INT8 NOT VISIBLE NOT NULL AS (mod(fnv32(md5(crdb_internal.datums_to_bytes(app_id, bucket))), 16:::INT8)) VIRTUAL,
	CONSTRAINT usage_edge_day_pk PRIMARY KEY (app_id ASC, bucket ASC, key_id ASC, account_id ASC, node_id ASC),
	INDEX usage_edge_day_account_idx (account_id ASC, bucket ASC),
	INDEX usage_edge_day_bucket_idx (bucket ASC, app_id ASC) USING HASH WITH (bucket_count=16)
) WITH (schema_locked = true);
CREATE TABLE public.usage_closing (
	bucket TIMESTAMPTZ NOT NULL,
	key_days INT8 NOT NULL,
	calls INT8 NOT NULL,
	drift INT8 NOT NULL,
	at TIMESTAMPTZ NOT NULL,
	CONSTRAINT usage_closing_pk PRIMARY KEY (bucket ASC)
) WITH (schema_locked = true);
CREATE TABLE public.usage_calls (
	app_id UUID NOT NULL,
	at TIMESTAMPTZ NOT NULL,
	id STRING NOT NULL,
	key_id UUID NOT NULL,
	endpoint STRING NOT NULL,
	task STRING NOT NULL,
	model STRING NOT NULL,
	status INT8 NOT NULL,
	end_reason STRING NOT NULL,
	source STRING NOT NULL,
	ttft_us INT8 NOT NULL,
	took_us INT8 NOT NULL,
	tokens_in INT8 NOT NULL,
	tokens_out INT8 NOT NULL,
	crdb_internal_at_shard_16 INT8 NOT VISIBLE NOT NULL AS (mod(fnv32(md5(crdb_internal.datums_to_bytes(at))), 16:::INT8)) VIRTUAL,
	CONSTRAINT usage_calls_pk PRIMARY KEY (app_id ASC, at ASC, id ASC),
	INDEX usage_calls_at_idx (at ASC) USING HASH WITH (bucket_count=16)
) WITH (schema_locked = true);
CREATE TABLE public.usage_calls_left (
	app_id UUID NOT NULL,
	day DATE NOT NULL,
	calls INT8 NOT NULL,
	CONSTRAINT usage_calls_left_pk PRIMARY KEY (app_id ASC, day ASC),
	INDEX usage_calls_left_day_idx (day ASC)
) WITH (schema_locked = true);
CREATE TABLE public.usage_rejected (
	node_id UUID NOT NULL,
	incarnation STRING NOT NULL,
	seq INT8 NOT NULL,
	whole BOOL NOT NULL,
	reason STRING NOT NULL,
	body BYTES NOT NULL,
	times INT8 NOT NULL,
	at TIMESTAMPTZ NOT NULL,
	CONSTRAINT usage_rejected_pk PRIMARY KEY (node_id ASC, incarnation ASC, seq ASC, whole ASC)
) WITH (schema_locked = true);
CREATE TABLE public.audit_chains (
	chain UUID NOT NULL,
	seq INT8 NOT NULL,
	hash BYTES NOT NULL,
	CONSTRAINT audit_chains_pk PRIMARY KEY (chain ASC)
) WITH (schema_locked = true);
CREATE TABLE public.audit_records (
	chain UUID NOT NULL,
	seq INT8 NOT NULL,
	at TIMESTAMPTZ NOT NULL,
	actor STRING NOT NULL,
	session_id STRING NOT NULL,
	address STRING NOT NULL,
	operation STRING NOT NULL,
	kind STRING NOT NULL,
	target STRING NOT NULL,
	before STRING NULL,
	after STRING NULL,
	hash BYTES NOT NULL,
	CONSTRAINT audit_records_pk PRIMARY KEY (chain ASC, seq ASC)
) WITH (schema_locked = true);
CREATE TABLE public.mail_outbox (
	id UUID NOT NULL,
	recipient STRING NOT NULL,
	template STRING NOT NULL,
	kek_id STRING NOT NULL,
	sealed_key BYTES NOT NULL,
	nonce BYTES NOT NULL,
	ciphertext BYTES NOT NULL,
	attempts INT8 NOT NULL,
	reason STRING NOT NULL,
	next_at TIMESTAMPTZ NOT NULL,
	created_at TIMESTAMPTZ NOT NULL,
	expires_at TIMESTAMPTZ NOT NULL,
	dead_at TIMESTAMPTZ NULL,
	CONSTRAINT mail_outbox_pk PRIMARY KEY (id ASC),
	INDEX mail_outbox_next (next_at ASC) WHERE dead_at IS NULL,
	INDEX mail_outbox_dead_idx (dead_at ASC) WHERE dead_at IS NOT NULL,
	INDEX mail_outbox_recipient_idx (recipient ASC)
) WITH (schema_locked = true);
CREATE TABLE public.billing_accounts (
	account_id UUID NOT NULL,
	developer_id UUID NULL,
	org_id UUID NULL,
	customer_id STRING NULL,
	plan STRING NOT NULL,
	revision INT8 NOT NULL,
	over_since TIMESTAMPTZ NULL,
	disputed_at TIMESTAMPTZ NULL,
	created_at TIMESTAMPTZ NOT NULL,
	synced_at TIMESTAMPTZ NULL,
	check_at TIMESTAMPTZ NOT NULL,
	CONSTRAINT billing_accounts_pk PRIMARY KEY (account_id ASC),
	UNIQUE INDEX billing_accounts_customer_key (customer_id ASC),
	INDEX billing_accounts_check (check_at ASC),
	INDEX billing_accounts_developer_idx (developer_id ASC),
	INDEX billing_accounts_org_idx (org_id ASC),
	CONSTRAINT billing_accounts_of_one CHECK ((account_id = COALESCE(developer_id, org_id)) AND ((developer_id IS NULL) OR (org_id IS NULL)))
) WITH (schema_locked = true);
CREATE TABLE public.billing_subscriptions (
	id STRING NOT NULL,
	account_id UUID NOT NULL,
	status STRING NOT NULL,
	plan STRING NOT NULL,
	billed_by STRING NOT NULL,
	period_end TIMESTAMPTZ NOT NULL,
	cancel_at_period_end BOOL NOT NULL,
	unpaid_since TIMESTAMPTZ NULL,
	CONSTRAINT billing_subscriptions_pk PRIMARY KEY (id ASC),
	INDEX billing_subscriptions_account (account_id ASC)
) WITH (schema_locked = true);
CREATE TABLE public.billing_checkouts (
	session_id STRING NOT NULL,
	account_id UUID NOT NULL,
	plan STRING NOT NULL,
	created_at TIMESTAMPTZ NOT NULL,
	CONSTRAINT billing_checkouts_pk PRIMARY KEY (session_id ASC),
	INDEX billing_checkouts_account (account_id ASC, created_at ASC)
) WITH (schema_locked = true);
CREATE TABLE public.billing_events (
	id STRING NOT NULL,
	type STRING NOT NULL,
	customer_id STRING NOT NULL,
	object_id STRING NOT NULL,
	created_at TIMESTAMPTZ NOT NULL,
	received_at TIMESTAMPTZ NOT NULL,
	attempts INT8 NOT NULL,
	state STRING NOT NULL,
	reason STRING NOT NULL,
	next_at TIMESTAMPTZ NOT NULL,
	CONSTRAINT billing_events_pk PRIMARY KEY (id ASC),
	INDEX billing_events_next (next_at ASC) WHERE state = 'waiting':::STRING,
	INDEX billing_events_done_idx (next_at ASC) WHERE state = 'done':::STRING,
	CONSTRAINT billing_events_state CHECK (state IN ('waiting':::STRING, 'done':::STRING, 'dead':::STRING))
) WITH (schema_locked = true);
CREATE TABLE public.usage_alerts (
	account_id UUID NOT NULL,
	developer_id UUID NULL,
	org_id UUID NULL,
	thresholds INT8[] NOT NULL,
	mail BOOL NOT NULL,
	webhook_url STRING NOT NULL,
	kek_id STRING NOT NULL,
	sealed_key BYTES NOT NULL,
	nonce BYTES NOT NULL,
	ciphertext BYTES NOT NULL,
	told_day DATE NULL,
	told INT8 NOT NULL,
	CONSTRAINT usage_alerts_pk PRIMARY KEY (account_id ASC),
	INDEX usage_alerts_developer_idx (developer_id ASC),
	INDEX usage_alerts_org_idx (org_id ASC),
	CONSTRAINT usage_alerts_of_one CHECK ((account_id = COALESCE(developer_id, org_id)) AND ((developer_id IS NULL) OR (org_id IS NULL)))
) WITH (schema_locked = true);
CREATE TABLE public.usage_alert_deliveries (
	id UUID NOT NULL,
	account_id UUID NOT NULL,
	day DATE NOT NULL,
	threshold INT8 NOT NULL,
	body STRING NOT NULL,
	state STRING NOT NULL,
	reason STRING NOT NULL,
	attempts INT8 NOT NULL,
	created_at TIMESTAMPTZ NOT NULL,
	next_at TIMESTAMPTZ NOT NULL,
	CONSTRAINT usage_alert_deliveries_pk PRIMARY KEY (id ASC),
	INDEX usage_alert_deliveries_next (next_at ASC) WHERE state = 'waiting':::STRING,
	INDEX usage_alert_deliveries_ended_idx (next_at ASC) WHERE state != 'waiting':::STRING,
	INDEX usage_alert_deliveries_account (account_id ASC, created_at ASC),
	CONSTRAINT usage_alert_deliveries_state CHECK (state IN ('waiting':::STRING, 'done':::STRING, 'dead':::STRING))
) WITH (schema_locked = true);
CREATE TABLE public.call_replays (
	scope_id UUID NOT NULL,
	key_hash BYTES NOT NULL,
	request_hash BYTES NOT NULL,
	key_id UUID NOT NULL,
	claim_id UUID NOT NULL,
	running BOOL NOT NULL,
	lease_until TIMESTAMPTZ NOT NULL,
	created_at TIMESTAMPTZ NOT NULL,
	size INT8 NOT NULL,
	kek_id STRING NOT NULL,
	sealed_key BYTES NOT NULL,
	nonce BYTES NOT NULL,
	ciphertext BYTES NOT NULL,
	crdb_internal_created_at_shard_16 INT8 NOT VISIBLE NOT NULL AS (mod(fnv32(md5(crdb_internal.datums_to_bytes(created_at))), 16:::INT8)) VIRTUAL,
	CONSTRAINT call_replays_pk PRIMARY KEY (scope_id ASC, key_hash ASC),
	UNIQUE INDEX call_replays_claim_uq (claim_id ASC),
	INDEX call_replays_scope_idx (scope_id ASC, created_at ASC, size ASC),
	INDEX call_replays_created_idx (created_at ASC) USING HASH WITH (bucket_count=16),
	INDEX call_replays_key_idx (key_id ASC)
) WITH (schema_locked = true);
CREATE TABLE public.playground_cameras (
	developer_id UUID NOT NULL,
	session_id STRING NOT NULL,
	camera_id STRING NOT NULL,
	homography FLOAT8[] NOT NULL,
	inliers INT8 NOT NULL,
	total_points INT8 NOT NULL,
	calibrated_at TIMESTAMPTZ NOT NULL,
	CONSTRAINT playground_cameras_pk PRIMARY KEY (developer_id ASC, session_id ASC, camera_id ASC),
	INDEX playground_cameras_calibrated_idx (calibrated_at ASC)
) WITH (schema_locked = true);
CREATE TABLE public.public_counters (
	name STRING NOT NULL,
	count INT8 NOT NULL,
	CONSTRAINT public_counters_pk PRIMARY KEY (name ASC),
	CONSTRAINT public_counters_name_short CHECK (length(name) BETWEEN 1:::INT8 AND 64:::INT8)
) WITH (schema_locked = true);
CREATE TABLE public.public_counter_state (
	id INT8 NOT NULL,
	since TIMESTAMPTZ NOT NULL,
	dropped INT8 NOT NULL,
	CONSTRAINT public_counter_state_pk PRIMARY KEY (id ASC),
	CONSTRAINT public_counter_state_single CHECK (id = 1:::INT8)
) WITH (schema_locked = true);
ALTER TABLE public.sessions ADD CONSTRAINT sessions_developer_fk FOREIGN KEY (developer_id) REFERENCES public.developers(id) ON DELETE CASCADE;
ALTER TABLE public.session_refreshes ADD CONSTRAINT session_refreshes_session_fk FOREIGN KEY (session_id) REFERENCES public.sessions(id) ON DELETE CASCADE;
ALTER TABLE public.account_links ADD CONSTRAINT account_links_developer_fk FOREIGN KEY (developer_id) REFERENCES public.developers(id) ON DELETE CASCADE;
ALTER TABLE public.account_totp ADD CONSTRAINT account_totp_developer_fk FOREIGN KEY (developer_id) REFERENCES public.developers(id) ON DELETE CASCADE;
ALTER TABLE public.account_recovery_codes ADD CONSTRAINT account_recovery_codes_developer_fk FOREIGN KEY (developer_id) REFERENCES public.developers(id) ON DELETE CASCADE;
ALTER TABLE public.account_deletions ADD CONSTRAINT account_deletions_developer_fk FOREIGN KEY (developer_id) REFERENCES public.developers(id) ON DELETE CASCADE;
ALTER TABLE public.organizations ADD CONSTRAINT organizations_sponsor_fk FOREIGN KEY (sponsor_id) REFERENCES public.developers(id) ON DELETE SET NULL;
ALTER TABLE public.org_members ADD CONSTRAINT org_members_developer_fk FOREIGN KEY (developer_id) REFERENCES public.developers(id) ON DELETE CASCADE;
ALTER TABLE public.org_members ADD CONSTRAINT org_members_org_fk FOREIGN KEY (org_id) REFERENCES public.organizations(id) ON DELETE CASCADE;
ALTER TABLE public.org_invites ADD CONSTRAINT org_invites_org_fk FOREIGN KEY (org_id) REFERENCES public.organizations(id) ON DELETE CASCADE;
ALTER TABLE public.apps ADD CONSTRAINT apps_developer_fk FOREIGN KEY (developer_id) REFERENCES public.developers(id) ON DELETE CASCADE;
ALTER TABLE public.apps ADD CONSTRAINT apps_org_fk FOREIGN KEY (org_id) REFERENCES public.organizations(id);
ALTER TABLE public.api_keys ADD CONSTRAINT api_keys_developer_fk FOREIGN KEY (developer_id) REFERENCES public.developers(id) ON DELETE CASCADE;
ALTER TABLE public.api_keys ADD CONSTRAINT api_keys_app_fk FOREIGN KEY (app_id) REFERENCES public.apps(id) ON DELETE CASCADE;
ALTER TABLE public.api_key_secrets ADD CONSTRAINT api_key_secrets_key_fk FOREIGN KEY (key_id) REFERENCES public.api_keys(id) ON DELETE CASCADE;
ALTER TABLE public.key_reads ADD CONSTRAINT key_reads_key_fk FOREIGN KEY (key_id) REFERENCES public.api_keys(id) ON DELETE CASCADE;
ALTER TABLE public.key_requests ADD CONSTRAINT key_requests_developer_fk FOREIGN KEY (developer_id) REFERENCES public.developers(id) ON DELETE CASCADE;
ALTER TABLE public.key_requests ADD CONSTRAINT key_requests_value_fk FOREIGN KEY (value_hash) REFERENCES public.api_key_secrets(hash) ON DELETE CASCADE;
ALTER TABLE public.billing_accounts ADD CONSTRAINT billing_accounts_developer_fk FOREIGN KEY (developer_id) REFERENCES public.developers(id) ON DELETE CASCADE;
ALTER TABLE public.billing_accounts ADD CONSTRAINT billing_accounts_org_fk FOREIGN KEY (org_id) REFERENCES public.organizations(id) ON DELETE CASCADE;
ALTER TABLE public.billing_subscriptions ADD CONSTRAINT billing_subscriptions_account_fk FOREIGN KEY (account_id) REFERENCES public.billing_accounts(account_id) ON DELETE CASCADE;
ALTER TABLE public.billing_checkouts ADD CONSTRAINT billing_checkouts_account_fk FOREIGN KEY (account_id) REFERENCES public.billing_accounts(account_id) ON DELETE CASCADE;
ALTER TABLE public.usage_alerts ADD CONSTRAINT usage_alerts_developer_fk FOREIGN KEY (developer_id) REFERENCES public.developers(id) ON DELETE CASCADE;
ALTER TABLE public.usage_alerts ADD CONSTRAINT usage_alerts_org_fk FOREIGN KEY (org_id) REFERENCES public.organizations(id) ON DELETE CASCADE;
ALTER TABLE public.usage_alert_deliveries ADD CONSTRAINT usage_alert_deliveries_account_fk FOREIGN KEY (account_id) REFERENCES public.usage_alerts(account_id) ON DELETE CASCADE;
ALTER TABLE public.call_replays ADD CONSTRAINT call_replays_key_fk FOREIGN KEY (key_id) REFERENCES public.api_keys(id) ON DELETE CASCADE;
ALTER TABLE public.playground_cameras ADD CONSTRAINT playground_cameras_developer_fk FOREIGN KEY (developer_id) REFERENCES public.developers(id) ON DELETE CASCADE;
-- Validate foreign key constraints. These can fail if there was unvalidated data during the SHOW CREATE ALL TABLES
ALTER TABLE public.sessions VALIDATE CONSTRAINT sessions_developer_fk;
ALTER TABLE public.session_refreshes VALIDATE CONSTRAINT session_refreshes_session_fk;
ALTER TABLE public.account_links VALIDATE CONSTRAINT account_links_developer_fk;
ALTER TABLE public.account_totp VALIDATE CONSTRAINT account_totp_developer_fk;
ALTER TABLE public.account_recovery_codes VALIDATE CONSTRAINT account_recovery_codes_developer_fk;
ALTER TABLE public.account_deletions VALIDATE CONSTRAINT account_deletions_developer_fk;
ALTER TABLE public.organizations VALIDATE CONSTRAINT organizations_sponsor_fk;
ALTER TABLE public.org_members VALIDATE CONSTRAINT org_members_developer_fk;
ALTER TABLE public.org_members VALIDATE CONSTRAINT org_members_org_fk;
ALTER TABLE public.org_invites VALIDATE CONSTRAINT org_invites_org_fk;
ALTER TABLE public.apps VALIDATE CONSTRAINT apps_developer_fk;
ALTER TABLE public.apps VALIDATE CONSTRAINT apps_org_fk;
ALTER TABLE public.api_keys VALIDATE CONSTRAINT api_keys_developer_fk;
ALTER TABLE public.api_keys VALIDATE CONSTRAINT api_keys_app_fk;
ALTER TABLE public.api_key_secrets VALIDATE CONSTRAINT api_key_secrets_key_fk;
ALTER TABLE public.key_reads VALIDATE CONSTRAINT key_reads_key_fk;
ALTER TABLE public.key_requests VALIDATE CONSTRAINT key_requests_developer_fk;
ALTER TABLE public.key_requests VALIDATE CONSTRAINT key_requests_value_fk;
ALTER TABLE public.billing_accounts VALIDATE CONSTRAINT billing_accounts_developer_fk;
ALTER TABLE public.billing_accounts VALIDATE CONSTRAINT billing_accounts_org_fk;
ALTER TABLE public.billing_subscriptions VALIDATE CONSTRAINT billing_subscriptions_account_fk;
ALTER TABLE public.billing_checkouts VALIDATE CONSTRAINT billing_checkouts_account_fk;
ALTER TABLE public.usage_alerts VALIDATE CONSTRAINT usage_alerts_developer_fk;
ALTER TABLE public.usage_alerts VALIDATE CONSTRAINT usage_alerts_org_fk;
ALTER TABLE public.usage_alert_deliveries VALIDATE CONSTRAINT usage_alert_deliveries_account_fk;
ALTER TABLE public.call_replays VALIDATE CONSTRAINT call_replays_key_fk;
ALTER TABLE public.playground_cameras VALIDATE CONSTRAINT playground_cameras_developer_fk;
ALTER TABLE public.usage_account_day CONFIGURE ZONE USING
	gc.ttlseconds = 600;
ALTER TABLE public.usage_app_hour CONFIGURE ZONE USING
	gc.ttlseconds = 600;
ALTER TABLE public.usage_calls_left CONFIGURE ZONE USING
	gc.ttlseconds = 600;
ALTER TABLE public.usage_day CONFIGURE ZONE USING
	gc.ttlseconds = 600;
ALTER TABLE public.usage_edge_day CONFIGURE ZONE USING
	gc.ttlseconds = 600;
ALTER TABLE public.usage_hour CONFIGURE ZONE USING
	gc.ttlseconds = 600;
ALTER TABLE public.usage_minute CONFIGURE ZONE USING
	gc.ttlseconds = 600;
ALTER TABLE public.usage_progress CONFIGURE ZONE USING
	gc.ttlseconds = 600;
