-- Names of kept values and of answers that wait to be fetched: the stored result that each one stands for.
CREATE TABLE kept_names (
    kind text NOT NULL,
    principal text NOT NULL,
    project text NOT NULL,
    name text NOT NULL,
    handle text NOT NULL,
    expires double precision NOT NULL,
    PRIMARY KEY (kind, principal, project, name)
);
