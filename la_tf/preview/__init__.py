"""Pictures of what the policies do to images."""
