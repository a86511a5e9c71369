-- +goose NO TRANSACTION
-- +goose Up
-- What was counted before. Sketches behind each other are their sum.
INSERT INTO usage_app_hour (app_id, bucket, account_id, calls, errors, tokens_in, tokens_out, ttft, took)
SELECT h.app_id, h.bucket, h.account_id, sum(h.calls)::INT8, sum(h.errors)::INT8, sum(h.tokens_in)::INT8, sum(h.tokens_out)::INT8,
    string_agg(h.ttft, ''::BYTEA), string_agg(h.took, ''::BYTEA)
FROM usage_hour AS h GROUP BY h.app_id, h.bucket, h.account_id
ON CONFLICT (app_id, bucket, account_id) DO NOTHING;
