"""The assistant that listens: audio in, speech found and recognised, an AI client asked, its answer spoken."""
