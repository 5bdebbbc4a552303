"""The command line: each command parses, calls a pipeline and prints. Pipelines are imported when a command runs."""
