"""Charts of reports and of `inspect --plot`, as SVG, and as PNG if matplotlib is installed.

Charts are made from numbers; nothing is computed from tables here. Start with `canvas`, the shapes and their output;
each other module is one kind of chart, as `trees` of a vine or two tables `compared`.
"""
