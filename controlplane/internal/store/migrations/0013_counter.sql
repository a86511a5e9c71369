-- +goose Up
CREATE TABLE IF NOT EXISTS public_counters (
    name  TEXT NOT NULL,
    count INT8 NOT NULL,
    CONSTRAINT public_counters_pk PRIMARY KEY (name),
    CONSTRAINT public_counters_name_short CHECK (length(name) BETWEEN 1 AND 64)
);

CREATE TABLE IF NOT EXISTS public_counter_state (
    id      INT8        NOT NULL,
    since   TIMESTAMPTZ NOT NULL,
    dropped INT8        NOT NULL,
    CONSTRAINT public_counter_state_pk PRIMARY KEY (id),
    CONSTRAINT public_counter_state_single CHECK (id = 1)
);

INSERT INTO public_counter_state (id, since, dropped)
VALUES (1, now(), 0)
ON CONFLICT (id) DO NOTHING;
