"""Traces and metrics for the operators of a server; they contain no arguments, values or names of people."""

from __future__ import annotations
