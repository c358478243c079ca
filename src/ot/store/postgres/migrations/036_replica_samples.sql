-- Additive.
-- What each minute brought, by replica, for a day: the graphs of the dashboard.
CREATE TABLE replica_samples (
    replica text NOT NULL,
    minute bigint NOT NULL,
    sample jsonb NOT NULL,
    PRIMARY KEY (minute, replica)
);
