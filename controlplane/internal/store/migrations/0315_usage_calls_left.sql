-- +goose NO TRANSACTION
-- +goose Up
-- How many calls the log does not have because they were too many at once.
CREATE TABLE usage_calls_left (
    app_id UUID NOT NULL,
    day    DATE NOT NULL,
    calls  INT8 NOT NULL,
    CONSTRAINT usage_calls_left_pk PRIMARY KEY (app_id, day)
);
