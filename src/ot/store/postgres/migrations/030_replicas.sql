-- The servers of a team: one row a process, as long as it tells that it is there. A name is taken by a process for good.
CREATE TABLE replicas (
    id text PRIMARY KEY,
    name text NOT NULL,
    address text NOT NULL,
    version text NOT NULL,
    link text NOT NULL,
    started timestamptz NOT NULL DEFAULT now(),
    seen timestamptz NOT NULL DEFAULT now(),
    draining boolean NOT NULL DEFAULT false
);

-- Those that are there. They tell it every 3 seconds; one that is late counts as long as it has a connection, but not for
-- ever: the machine at its other end may be gone.
CREATE VIEW living_replicas AS SELECT * FROM replicas WHERE seen > now() - interval '1 second'
    OR seen > now() - interval '15 seconds'
    AND EXISTS (SELECT FROM pg_stat_activity WHERE application_name = link);

-- Messages from one replica to another, until they are fetched.
CREATE UNLOGGED TABLE replica_mail (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    receiver text NOT NULL,
    sent timestamptz NOT NULL DEFAULT now(),
    body bytea NOT NULL
);
CREATE INDEX ON replica_mail (receiver, id);

-- Runs that go on after their answer, and where; each until its own answer is kept.
CREATE TABLE detached_runs (
    principal text NOT NULL,
    run text NOT NULL,
    replica text NOT NULL,
    began timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (principal, run)
);

-- What a person's client without a session has read and agreed to, whichever replica it spoke to.
CREATE TABLE client_memories (
    principal text NOT NULL,
    kind text NOT NULL,
    name text NOT NULL,
    reason text NOT NULL DEFAULT '',
    seen timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (principal, kind, name, reason)
);
