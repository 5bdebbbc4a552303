"""The vocabulary of the wall: what may be asked at the Door, and the only values that may cross it.

Requests and values are plain frozen data, without callables. Start with `door`, the protocol with its six verbs and
their requests; `features` are what can be summed, `values` what comes back, always with its noise, `charges` what a
request costs, and `replay` a Door that answers from a record instead of rows.
"""
