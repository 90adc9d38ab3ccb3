"""What two methods learn beside the network: a controller, and a sampler."""
