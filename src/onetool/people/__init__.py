"""Authentication on a team's server: by a token of the team's issuer, or an API key.

`PeopleGate` is our own middleware around the MCP endpoint: the SDK's would check tokens after a connection has its
place, and has one sentence for all refusals. The `Person` (issuer and subject) is put into the scope of the request,
where `person_of` finds them; without `auth` it is always `LOCAL_PERSON`. `ServedApps.use(person)` then gives their
engine (`ot.apps`).

Keys of the issuer are fetched on a thread, kept when it is unreachable, and asked for again at most once in 10 s for
an unknown key. `ShareGate` keeps one person from holding more than half of the connections with open requests.
"""
