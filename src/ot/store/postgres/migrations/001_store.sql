-- The one key from which replicas derive those that they have in common.
CREATE TABLE keys (key bytea NOT NULL);
INSERT INTO keys SELECT uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid());

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

-- The journal: lines of runs in the order in which they were written. Lines about a run itself have an event and a row
-- each, lines about its calls share rows.
CREATE TABLE journal_lines (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    principal text NOT NULL,
    project text NOT NULL,
    run text NOT NULL,
    event text NOT NULL,
    writer text NOT NULL,
    written double precision NOT NULL,
    lines bytea NOT NULL
);
CREATE INDEX journal_lines_of_runs ON journal_lines (principal, project, run, id);
CREATE INDEX journal_runs ON journal_lines (principal, project, id) WHERE event <> '';

-- Values of calls that are too large for a line.
CREATE TABLE journal_values (
    name text PRIMARY KEY,
    principal text NOT NULL,
    project text NOT NULL,
    run text NOT NULL,
    written double precision NOT NULL,
    data bytea NOT NULL
);
CREATE INDEX journal_values_of_runs ON journal_values (principal, project, run);

-- Results: their files in pieces, and what is known of those that have gone.
CREATE TABLE results (
    principal text NOT NULL,
    handle text NOT NULL,
    header bytea NOT NULL,
    size bigint NOT NULL,
    created double precision NOT NULL,
    expires double precision NOT NULL,
    gone boolean NOT NULL DEFAULT false,
    PRIMARY KEY (principal, handle)
);
CREATE TABLE result_pieces (
    principal text NOT NULL,
    handle text NOT NULL,
    place bigint NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (principal, handle, place)
);
ALTER TABLE result_pieces ALTER COLUMN data SET STORAGE EXTERNAL;

-- Statistics of runs, of their calls, and of requests to models.
CREATE TABLE stat_runs (
    principal text NOT NULL,
    id bigint NOT NULL,
    server bigint NOT NULL,
    client text NOT NULL,
    ended double precision NOT NULL,
    seconds double precision NOT NULL,
    error text NOT NULL,
    command_bytes bigint NOT NULL,
    command_kind text NOT NULL,
    answer_bytes bigint NOT NULL,
    answer_kind text NOT NULL,
    attachments bigint NOT NULL,
    PRIMARY KEY (principal, id)
);
CREATE INDEX stat_runs_by_time ON stat_runs (principal, ended);
CREATE TABLE stat_calls (
    principal text NOT NULL,
    run bigint NOT NULL,
    depth bigint NOT NULL,
    tool text NOT NULL,
    ended double precision NOT NULL,
    seconds double precision NOT NULL,
    error text NOT NULL,
    sent bigint NOT NULL,
    sent_kind text NOT NULL,
    received bigint NOT NULL,
    received_kind text NOT NULL
);
CREATE INDEX stat_calls_by_time ON stat_calls (principal, ended);
CREATE TABLE stat_models (
    principal text NOT NULL,
    provider text NOT NULL,
    model text NOT NULL,
    ended double precision NOT NULL,
    input_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    cost double precision,
    seconds double precision NOT NULL
);
CREATE INDEX stat_models_by_time ON stat_models (principal, ended);

-- The audit log: pieces of the files that replicas write.
CREATE TABLE audit_lines (
    principal text NOT NULL,
    file text NOT NULL,
    place bigint NOT NULL,
    writer text NOT NULL,
    written double precision NOT NULL,
    lines bytea NOT NULL,
    PRIMARY KEY (principal, file, place)
);
