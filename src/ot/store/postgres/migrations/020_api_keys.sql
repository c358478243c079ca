-- API keys of machines, without what would open anything: a digest of the secret.
CREATE TABLE api_keys (
    id text PRIMARY KEY,
    name text NOT NULL,
    groups text[] NOT NULL,
    digest text NOT NULL,
    created double precision NOT NULL,
    expires double precision NOT NULL
);
