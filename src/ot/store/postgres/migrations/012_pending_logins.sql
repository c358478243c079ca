-- Logins of people at servers that are under way: whose they are, and what their browser has brought.
CREATE TABLE pending_logins (
    state text PRIMARY KEY,
    principal text NOT NULL,
    server text NOT NULL,
    expires timestamptz NOT NULL,
    answer text
);
CREATE INDEX pending_logins_expires ON pending_logins (expires);
