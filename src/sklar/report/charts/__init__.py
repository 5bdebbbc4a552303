"""Every drawing of reports and of `inspect --plot`, from one set of shapes: SVG, and PNG where matplotlib is installed.

Numbers come in, pictures go out; nothing is computed from tables here. Start with `canvas`, the shapes and how they are
written; each other file is one kind of picture, as `trees` of a vine or two tables `compared`.
"""
