"""The use cases of the product, one per module or package. Each validates its request once and runs it.

`fit` is the only way through the privacy boundary; the lab cannot be reached from here. Start with `fit`, then `model`,
which a fit returns, and `model_file`, its format on disk.
"""
