-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX playground_cameras_calibrated_idx ON playground_cameras (calibrated_at);
