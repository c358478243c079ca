"""Values and logs as text: the one output module, flow style, log lines, the redactor."""
