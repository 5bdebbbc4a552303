"""What all commands share at the terminal: options with one spelling, tables and JSON, progress, plain errors.

Nothing here knows what a command is about. Start with `guard`, which turns errors into one line and an exit code; the
rest are `options`, `show` and `progress`.
"""
