"""The studio: a local page for the custodian of a folder, from a table to a verified release.

Thin as the command line: a page parses what a form said, has the same commands run that anyone could type, and shows
what they left. No row is read in this process; schemas, ledgers and what was made lie in the folder, so that a studio
or a job may be killed at any time. Start with `serve`, then `app` (addresses) and `pages` (one a step); `safety` says
who is let in, `folder` what a table is, `commands` what is run, `jobs` and `work` how; `visit` is one request.
"""
