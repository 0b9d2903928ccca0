"""Damaged files, forged models, kills, full disks, extremes, threads and soak: `make campaign`.

A stage is a numbered list of trials.  The number is the seed: trial 4711 of a stage is the same in the slice that
`make test` runs, in an hour of `make campaign`, and when it is run alone to look at it.
"""
