"""From a source of images to training batches."""
