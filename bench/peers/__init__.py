"""Programs that a person could use instead of OneTool, installed apart and measured in the same rounds.

`environments` installs them, `contestants` says how each is started and how work is expressed in its terms, `rounds`
measures them alternately, `isolation` shows what code in each of them can reach.
"""
