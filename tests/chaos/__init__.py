"""People who work while replicas are killed, paused and cut off: what they were told is compared with what happened.

    python -m tests.chaos [--one] [--minutes M] [--seed N]

`people` use a service and remember what they were told; they know OneTool's answers as a person reads them. `faults`
break something for a while, at random from a seed that is printed. `ledger` compares: a program that is no part of
OneTool writes down each effect as it happens. `usage` follows memory, descriptors, processes, connections and locks.
"""
