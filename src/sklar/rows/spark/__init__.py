"""Rows on a Spark cluster: encoded and counted where they are; only integers that add up come to the driver.

Raw values never leave the executors. Start with `rows`, then `tasks`, what runs inside the cluster.
"""

from sklar.rows.spark.rows import SparkRows, open_spark_rows

__all__ = ["SparkRows", "open_spark_rows"]
