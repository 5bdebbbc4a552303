"""The page of a release: what is shown, drawn, answered and checked in it, gathered from a model file.

Start with `gather`, which gathers everything and writes the file; `facts` describes the schema, `answers` holds
estimates with intervals, `pictures` has what was measured. How the file looks and behaves is in `sklar.page`.
"""
