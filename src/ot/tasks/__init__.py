"""Tasks with an owner, and work that is too large for the event loop.

A call begins in the callback that has read it (`owned_tasks`): an idle task is stepped directly, through what it waits
for (`Awaited`), instead of in the loop's next turn, for which asyncio offers nothing before Python 3.12.
"""
