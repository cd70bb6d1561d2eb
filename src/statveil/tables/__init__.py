"""What touches data: columns read in blocks, statistics, maps, files and frames, release()."""
