-- Small documents of people: what servers said of themselves, what was accepted, shapes, skills, sealed secrets.
CREATE TABLE shelf (
    principal text NOT NULL,
    name text NOT NULL,
    digest text NOT NULL,
    content bytea NOT NULL,
    changed timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (principal, name)
);
