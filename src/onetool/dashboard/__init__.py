"""The dashboard at `/`: runs, servers, extensions, results, statistics and errors, for whoever is logged in.

One ASGI application, loaded by the first request for a page (`late`). Every request passes `DashboardApp`: assets,
logins, then a session, a place among the connections, the person's engine, and a view. A view (`views`) asks the same
parts as the `ot` pack and renders a template; nothing is computed twice.

- Tickets are one-time links, logins under way and sessions. One person's are kept in memory, by digest; a team's are
  sealed with the keys that replicas share. The store remembers only those that ended early.
- Live parts are polled with `If-None-Match` while they are visible: a stream would take one of a browser's six
  connections for each tab. `ShortCache` shares one look at the journal, and figures.
- Everything is escaped, and characters that turn or hide text become visible marks (`pages`). The content policy names
  a nonce; assets have a digest in their name.
- Forms carry a token derived from the session; origin and content type are checked (`visit`). A server's changed
  definition is accepted only if it is still the one that the page showed.
"""
