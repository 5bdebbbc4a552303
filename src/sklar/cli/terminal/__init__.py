"""What all commands share: common options, tables and JSON, progress bars, error messages.

Start with `guard`, which turns errors into one line and an exit code; the rest are `options`, `show` and `progress`.
"""
