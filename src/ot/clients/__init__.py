"""Who calls: the person, the client, what it remembers and what it can be asked.

`Front` is all that the engine knows of a client. The log names the person through a context variable (`person`), which
`OwnedTasks` hands on, since calls begin in callbacks that belong to nobody.
"""
