-- What calls of a run have changed, as it was before: sealed frames in their order.
CREATE TABLE undo_frames (
    principal text NOT NULL,
    project text NOT NULL,
    run text NOT NULL,
    number integer NOT NULL,
    written double precision NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (principal, project, run, number)
);
