-- Additive.
-- Lists show the latest results of a person, of which there may be many.
CREATE INDEX results_latest ON results (principal, created) WHERE NOT gone;
