"""The pack `notes`. The full-text table is kept by the same transaction and not by triggers, which SQLite does not let
touch it in a schema that is not trusted."""
