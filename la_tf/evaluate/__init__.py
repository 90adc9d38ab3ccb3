"""How good a trained classifier is."""
