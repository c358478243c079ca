"""The audit log: calls with side effects, who made them, what allowed it, and how it ended.

A line before each such call, and one after it, in a file that is opened with the first. A call that only reads costs
one comparison. The line after is written 20 ms later with others', so as not to delay the next call of the run. Lines
are sealed by a `chain` of digests, which `reading` checks byte by byte, and which continues in the next file. The
writer holds a lock on its file, so that no other process removes it as too old (`retention`).
"""
