"""What a machine makes of the views, the networks and the training step."""
