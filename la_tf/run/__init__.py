"""A training run on disk: folder, checkpoints, results, and its parts made anew."""
