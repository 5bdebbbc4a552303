"""Who a person is where one may have several rows: the key, the bound, what links the rows, and tables with keys.

All of it is public, and none of it is read from rows. Start with `person`; `linked` are the tables that tell persons
whose rows follow one another, and `tables` joins a table of parents with a table of their rows.
"""
