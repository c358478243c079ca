"""Behind the `chart` pack: Vega-Lite specifications, checked and drawn."""
