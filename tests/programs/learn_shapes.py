"""Learns the shapes of some values of one tool, one after another: `learn_shapes.py FOLDER NAME COUNT`."""

import sys
from pathlib import Path

from ot.shapes.deriving import shape_of
from ot.shapes.pages import Learnt, Pages
from ot.store.shelf import Shelf

folder, name, count = sys.argv[1:]
pages = Pages(Shelf(Path(folder)))
for number in range(int(count)):
    shape = shape_of({"id": 1, f"{name}_{'abcdefghij'[number % 5]}": 1})
    pages.add("local", "a place", {"tool": Learnt("1", 1, shape)})
