-- The calls of each person that a rule of the policy limits, in the hour of the database's clock; rules by their digests.
CREATE TABLE calls_per_hour (
    principal text NOT NULL,
    rule bytea NOT NULL,
    hour bigint NOT NULL,
    calls integer NOT NULL,
    PRIMARY KEY (principal, rule)
);
