"""The use cases of the product, one a file or package: fit, model, sample, plan. Each checks its request once and runs.

The only way through the wall is in `fit`; the laboratory is not reached from here. Start with `fit`, then `model`, what
a fit returns, and `model_file`, how it is kept.
"""
