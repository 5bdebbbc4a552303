"""Commands about a fitted model. None of them spends budget, and their logic is in `pipeline`.

Start with `sample`; `complete` draws the missing values of rows, `estimate` answers questions with error bars,
`inspect` shows the content of a model, `report` its quality.
"""
