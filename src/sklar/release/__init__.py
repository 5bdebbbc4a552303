"""The only values that may cross the wall around the rows, what may be asked for, and the Door protocol."""
