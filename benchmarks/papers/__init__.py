"""One script a table or figure of the papers: ours beside the paper's numbers, and why they differ."""
