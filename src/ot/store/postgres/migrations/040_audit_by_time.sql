-- Whoever looks after a server reads what everybody has called in a day.
CREATE INDEX audit_lines_by_time ON audit_lines (written);
