"""Rows on a Spark cluster: encoded and counted where they are; only integers that add up come to the driver."""

from sklar.rows.spark.rows import SparkRows, open_spark_rows

__all__ = ["SparkRows", "open_spark_rows"]
