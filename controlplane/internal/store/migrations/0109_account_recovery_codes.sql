-- +goose NO TRANSACTION
-- +goose Up
-- Codes that stand in for a second factor, once each. hash is the SHA-256 of 80 random bits.
CREATE TABLE account_recovery_codes (
    developer_id UUID  NOT NULL,
    hash         BYTEA NOT NULL,
    CONSTRAINT account_recovery_codes_pk PRIMARY KEY (developer_id, hash),
    CONSTRAINT account_recovery_codes_developer_fk FOREIGN KEY (developer_id) REFERENCES developers (id) ON DELETE CASCADE
);
