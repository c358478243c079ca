"""The journal: what runs were asked, the calls they made and how those ended, so that a later run can go on from it.

The lines are kept by `ot.store`. Each begins with principal, project and run, so a search for these bytes finds one
run.

- That a call with side effects begins is written before it does, in one `write` with all that waited; how calls ended
  before the next such call, before the answer, or 20 ms later. So after a `kill -9`, a call may count as one whose end
  nobody knows, never as one that was not made.
- Arguments are the bytes that the kernel sent, values those that it gets: nothing is encoded twice. `equality`
  compares calls by an HMAC, with a key of the person's, over the tool, its source and the arguments in one order.
- A run that lacks a line would repeat what it has done. So its first line is overwritten in place, which needs no room
  on a full disk, to say that the run is not whole.
- Calls that read are answered again (`reuse`) only in the same state: every call with side effects has a random
  number, and the XOR of those so far names the state, in whatever order they came. While one is going on there is no
  state.
- A resumed run takes over all calls of the run that it goes on from, so it needs no other.
- A replay (`replay`) answers every call from the journal; one that was not recorded raises, so nothing has an effect.
"""
