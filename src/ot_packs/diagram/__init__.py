"""Behind the `diagram` pack: Mermaid and Graphviz."""
