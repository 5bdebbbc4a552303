"""Exact counts of codes: tables, pairs, bits, labels. Integers, the same whatever the number of threads.

Noise is added elsewhere, by `sklar.private`, before anything leaves. Start with `count`; `tables` checks what is asked
before a row is read, `binary` counts bits, `labels` counts texts that nobody listed.
"""
