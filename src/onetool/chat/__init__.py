"""A conversation with the assistant in a terminal.

The main thread is the person's (a prompt blocks it, and only it receives Ctrl-C); the engine runs on another one.
Finished Markdown blocks are printed once and only the open one is redrawn, by one thread: a terminal library that
draws from two loses track of the cursor. Control characters from models and tools never reach the terminal. Saved
conversations are files of lines: a turn that asks for calls is written before any is made.
"""
