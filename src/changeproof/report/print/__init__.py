"""For papers: figures, and tables as LaTeX, Markdown and CSV."""
