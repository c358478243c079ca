-- Until when a process that writes to the journal counts as there, by the clock of the database. It renews that itself.
CREATE TABLE writers (
    name text PRIMARY KEY,
    until timestamptz NOT NULL
);

-- Runs that others went on from, under numbers that only grow: nobody else writes lines of such a run any more. A run
-- without a row belongs to the process that has begun it, under the number 1.
CREATE TABLE run_owners (
    principal text NOT NULL,
    project text NOT NULL,
    run text NOT NULL,
    number integer NOT NULL,
    heir text NOT NULL,
    written double precision NOT NULL,
    PRIMARY KEY (principal, project, run, number)
);

-- Add lines of one process, but those of runs that were taken over; of these, return the name and who has it. The lock orders
-- this and a takeover: whatever was committed before one is seen by whoever has taken the run over. A loop, for there
-- are few lines at a time, and a statement about arrays takes longer to begin.
CREATE FUNCTION add_lines(
    process text, persons text[], places text[], names text[], events text[], moments double precision[], pieces bytea[]
) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    refused text[];
    owner text;
BEGIN
    PERFORM pg_advisory_xact_lock_shared(hashtextextended(process, 60));
    FOR n IN 1 .. cardinality(names) LOOP
        SELECT heir INTO owner FROM run_owners
            WHERE principal = persons[n] AND project = places[n] AND run = names[n] ORDER BY number DESC LIMIT 1;
        IF FOUND THEN
            refused := refused || ARRAY[names[n], owner];
        ELSE
            INSERT INTO journal_lines (principal, project, run, event, writer, written, lines)
                VALUES (persons[n], places[n], names[n], events[n], process, moments[n], pieces[n]);
        END IF;
    END LOOP;
    RETURN refused;
END $$;

-- Make a run the owner of another, under a number that it has not had; false where somebody else was first.
CREATE FUNCTION take_run(
    person text, place text, name text, next_number integer, next_heir text, moment double precision
) RETURNS boolean LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended(writer, 60)) FROM journal_lines
        WHERE principal = person AND project = place AND run = name AND event = 'start';
    INSERT INTO run_owners VALUES (person, place, name, next_number, next_heir, moment) ON CONFLICT DO NOTHING;
    RETURN FOUND;
END $$;
