-- +goose NO TRANSACTION
-- +goose Up
-- Before nodes said it, what was counted is all that is known. The nil UUID stands for all nodes.
INSERT INTO usage_edge_day (app_id, bucket, key_id, account_id, node_id, calls, tokens_in, tokens_out)
SELECT d.app_id, d.bucket, d.key_id, d.account_id, '00000000-0000-0000-0000-000000000000', sum(d.calls)::INT8, sum(d.tokens_in)::INT8,
    sum(d.tokens_out)::INT8
FROM usage_day AS d GROUP BY d.app_id, d.bucket, d.key_id, d.account_id
ON CONFLICT (app_id, bucket, key_id, account_id, node_id) DO NOTHING;
