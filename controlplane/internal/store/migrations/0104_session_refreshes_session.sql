-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX session_refreshes_session ON session_refreshes (session_id);
