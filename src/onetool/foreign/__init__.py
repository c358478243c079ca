"""Other MCP clients: their configuration files, read for servers and edited to know OneTool.

Files are edited as text. A parser gives the position of every value, the change is spliced in, and the result is
parsed and compared with the intended one: if they differ, nothing is written. What is taken out of a file is first
recorded in the state folder. Undoing is a search for the text before, not an edit: a copy that, changed as we changed
it, gives the file as it is now. Only servers that have just been started, and that our configuration holds down to
their secrets, are taken out. Secrets are written before what refers to them. A client is connected to a project with
`serve --in FOLDER`; naming the project's file with `--config` would be trust in whatever it says later.
"""
