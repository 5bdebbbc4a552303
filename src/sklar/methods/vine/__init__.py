"""The DP vine: margins, pairs and a first tree measured with noise, and all the rest made from those releases.

The model it makes is in `sklar.model.vine`. Start with `fit`, then `stages`, which states what is measured with which
part of the budget; each other file is one of the stages.
"""
