"""The stages of a training step: its batch, its passes, its update, its safety."""
