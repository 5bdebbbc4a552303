"""From sampled numpy values to Arrow tables, data frames and files that appear whole or not at all."""
