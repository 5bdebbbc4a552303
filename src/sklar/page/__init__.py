"""The page of a release as a file: its program, its style and its data in one HTML document that needs no network.

Start with `document`, which puts the parts together and lists their hashes; `program` joins the modules in `static`,
which mirror the Python modules that draw rows; `embedded` holds data as text. What is shown is gathered by
`sklar.pipeline.release_page`.
"""
