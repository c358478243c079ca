-- How much each person has used of what is limited: in the minute and on the day, by the clock of the database.
CREATE TABLE quotas (
    principal text PRIMARY KEY,
    minute bigint NOT NULL DEFAULT 0,
    runs integer NOT NULL DEFAULT 0,
    calls integer NOT NULL DEFAULT 0,
    day bigint NOT NULL DEFAULT 0,
    model_cost double precision NOT NULL DEFAULT 0
);

-- Runs that go on. A replica renews those of its own; what nobody renews has died with its replica.
CREATE TABLE run_leases (
    principal text NOT NULL,
    run text NOT NULL,
    until timestamptz NOT NULL,
    PRIMARY KEY (principal, run)
);

-- Let a run begin if there is room for it; the row of the person keeps replicas from doing so at once.
CREATE FUNCTION begin_run(
    person text, name text, most_runs integer, most_running integer, most_calls integer, wanted integer, lease interval
) RETURNS TABLE (refused text, given integer, free_in double precision) LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    moment double precision := extract(epoch FROM clock_timestamp());
    this_minute bigint := floor(moment / 60);
    rest double precision := (this_minute + 1) * 60 - moment;
    used quotas;
    calls_given integer := 0;
BEGIN
    INSERT INTO quotas (principal) VALUES (person) ON CONFLICT DO NOTHING;
    SELECT * INTO used FROM quotas WHERE principal = person FOR UPDATE;
    IF used.minute <> this_minute THEN
        used.runs := 0;
        used.calls := 0;
    END IF;
    IF used.runs >= most_runs THEN
        RETURN QUERY SELECT 'runs_per_minute', 0, rest;
        RETURN;
    END IF;
    IF most_running IS NOT NULL THEN
        DELETE FROM run_leases WHERE principal = person AND until < clock_timestamp();
        IF (SELECT count(*) FROM run_leases WHERE principal = person) >= most_running THEN
            RETURN QUERY SELECT 'concurrent_runs', 0, 0.0::double precision;
            RETURN;
        END IF;
        INSERT INTO run_leases VALUES (person, name, clock_timestamp() + lease)
            ON CONFLICT (principal, run) DO UPDATE SET until = excluded.until;
    END IF;
    IF most_calls IS NOT NULL THEN
        calls_given := least(wanted, greatest(most_calls - used.calls, 0));
    END IF;
    UPDATE quotas SET minute = this_minute, runs = used.runs + 1, calls = used.calls + calls_given
        WHERE principal = person;
    RETURN QUERY SELECT '', calls_given, rest;
END $$;

CREATE FUNCTION take_calls(person text, most integer, wanted integer)
RETURNS TABLE (given integer, free_in double precision) LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    moment double precision := extract(epoch FROM clock_timestamp());
    this_minute bigint := floor(moment / 60);
    used quotas;
    calls_given integer;
BEGIN
    INSERT INTO quotas (principal) VALUES (person) ON CONFLICT DO NOTHING;
    SELECT * INTO used FROM quotas WHERE principal = person FOR UPDATE;
    IF used.minute <> this_minute THEN
        used.runs := 0;
        used.calls := 0;
    END IF;
    calls_given := least(wanted, greatest(most - used.calls, 0));
    UPDATE quotas SET minute = this_minute, runs = used.runs, calls = used.calls + calls_given WHERE principal = person;
    RETURN QUERY SELECT calls_given, (this_minute + 1) * 60 - moment;
END $$;
