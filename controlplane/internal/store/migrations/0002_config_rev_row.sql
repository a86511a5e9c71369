-- +goose NO TRANSACTION
-- +goose Up
-- The epoch names this history: a new database has a new one, so nodes do not mix the two.
INSERT INTO config_rev (id, epoch, rev)
VALUES (1, 1 + floor(random() * 9007199254740990)::INT8, 0)
ON CONFLICT (id) DO NOTHING;
