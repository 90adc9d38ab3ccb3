"""Training a classifier, from a configuration to a summary."""
