"""Text-to-SQL: schemas, clause-wise comparison, generated databases and safe execution. Knows no model."""
