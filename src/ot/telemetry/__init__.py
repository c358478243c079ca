"""Spans and figures for whoever operates the server; no arguments, values or names of people are in them."""

from __future__ import annotations
