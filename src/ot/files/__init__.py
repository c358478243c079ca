"""Files that tools reach: the one way from a path that a model names to a file.

`walk` goes along a path by descriptors that only mark a place (`ot_system.open_step`): it reads each link itself and
looks up no name twice, so nothing that is exchanged meanwhile leads out. (`openat2` would refuse links between two
roots.)
`AllowedFiles` compares where it led with the roots, resolved when the configuration was loaded, and with what is
closed, by place and by inode. Nothing is told of what exists outside of the roots.

A file is written beside its place and renamed. An edit compares the file's version under a lock on the folder before
the rename, and keeps the file open from reading to writing, so that no other file gets its inode.
"""
