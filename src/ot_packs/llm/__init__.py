"""Models as tools: which one answers, how it is asked, and what is made of its answer."""
