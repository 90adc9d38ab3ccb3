"""Compares methods: grids of runs, and pages that tell what came out."""
