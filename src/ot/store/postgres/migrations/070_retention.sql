-- Additive.
-- When what is too old is removed next, by whichever replica comes first, in seconds of the database's clock.
CREATE TABLE retention (due double precision NOT NULL);
INSERT INTO retention VALUES (0);

-- What is too old is found for all people together, and so is what everybody did in the last days.
CREATE INDEX journal_events_by_time ON journal_lines (written) WHERE event <> '';
CREATE INDEX journal_values_by_time ON journal_values (written);
CREATE INDEX undo_frames_by_time ON undo_frames (written);
CREATE INDEX run_owners_by_time ON run_owners (written);
CREATE INDEX results_by_end ON results (expires);
CREATE INDEX kept_names_by_end ON kept_names (expires);
CREATE INDEX stat_runs_of_all_by_time ON stat_runs (ended);
CREATE INDEX stat_calls_of_all_by_time ON stat_calls (ended);
CREATE INDEX stat_models_of_all_by_time ON stat_models (ended);
