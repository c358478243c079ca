"""The network, as packs reach it: guarded addresses, bounded answers.

Services are called in one way (`calling`): all calls with one key take turns at its pace (`ot.services.rate_limits`),
a refusal for the rate holds the whole queue, and other passing failures are tried again three times, those that begin
something only if they never arrived. Redirects are not followed, since the key is for this service.

On the open internet (`guarded`) addresses are checked where connections are made: a name is resolved once, all its
addresses are checked, and the connection goes to one of those, after every redirect too.
"""
