"""The vocabulary of the wall: what may be asked at the Door, and the only values that may cross it.

Plain frozen data, no behaviour and no callables. Start with `door`, the protocol with its six verbs and their requests;
`features` are what can be summed, `values` what comes back, always with its noise.
"""
