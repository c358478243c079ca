-- Additive.
-- What a replica tells of itself with each sign of life, such as the keys that it knows and the kernels that it uses.
ALTER TABLE replicas ADD COLUMN status jsonb NOT NULL DEFAULT '{}';
