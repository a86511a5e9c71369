-- +goose Up
-- Cameras that developers calibrated in the playground. homography maps the image to the floor: three rows.
CREATE TABLE IF NOT EXISTS playground_cameras (
    developer_id  UUID        NOT NULL,
    session_id    TEXT        NOT NULL,
    camera_id     TEXT        NOT NULL,
    homography    FLOAT8[]    NOT NULL,
    inliers       INT8        NOT NULL,
    total_points  INT8        NOT NULL,
    calibrated_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT playground_cameras_pk PRIMARY KEY (developer_id, session_id, camera_id),
    CONSTRAINT playground_cameras_developer_fk FOREIGN KEY (developer_id) REFERENCES developers (id) ON DELETE CASCADE
);
CREATE INDEX IF NOT EXISTS playground_cameras_calibrated_idx ON playground_cameras (calibrated_at);
