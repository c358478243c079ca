"""Trust: which files of a project's `.onetool` folder a person has looked at and accepted, byte by byte."""
