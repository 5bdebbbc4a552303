"""The studio: a local web page for the custodian of a folder, from a table to a verified release.

A page parses a form, runs the same commands as the terminal, and shows their results. No row is read in this process;
schemas, ledgers and results are files in the folder, so a studio or a job may be killed at any time. Start with
`serve`, then `app` (routes) and `pages` (one per step); `safety` controls access, `folder` has the tables, `commands`
the commands, `jobs` and `work` run them; `visit` is one request.
"""
