"""The parts that an engine is put together from."""
