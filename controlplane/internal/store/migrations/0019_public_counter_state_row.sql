-- +goose NO TRANSACTION
-- +goose Up
INSERT INTO public_counter_state (id, since, dropped)
VALUES (1, now(), 0)
ON CONFLICT (id) DO NOTHING;
