"""Tables that Spark holds: read in passes over their partitions, released by the executors."""
