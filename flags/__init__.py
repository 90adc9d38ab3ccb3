"""The command line: absl flags by concern, each with its validator beside it."""
