-- Additive indexes.
-- The audit log of a person is shown page by page, the newest lines first.
CREATE INDEX CONCURRENTLY audit_lines_latest ON audit_lines (principal, written, file, place);

-- How much somebody has stored is added up when there may be too much, and what has expired goes before what has not.
CREATE INDEX CONCURRENTLY results_by_state ON results (principal, gone, expires) INCLUDE (size);
