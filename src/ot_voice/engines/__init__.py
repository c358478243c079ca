"""The code inside the recognisers' helper processes: plain blocking functions over their libraries."""
