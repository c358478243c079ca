-- Sessions at the dashboard that people have ended, by digest, until they would have expired.
CREATE TABLE ended_sessions (
    session text PRIMARY KEY,
    expires timestamptz NOT NULL
);
CREATE INDEX ended_sessions_expires ON ended_sessions (expires);
