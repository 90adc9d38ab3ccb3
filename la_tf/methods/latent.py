"""LatentAugment itself."""

from la_tf.methods.method import Method, weighted

# Policies: K distinct ones an image, drawn uniformly. Weights: eq. 3. The prior: moves.
METHOD = Method(
    "latent", "LatentAugment: views weighted by how hard they are", weighted("latent")
)
