"""The parts of a call: arguments on the way out, content on the way back, and the calls in flight."""
