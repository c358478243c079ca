-- The logins of people at servers, sealed. Whoever renews one holds its row.
CREATE TABLE credentials (
    principal text NOT NULL,
    place text NOT NULL,
    sealed text NOT NULL,
    changed timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (principal, place)
);
