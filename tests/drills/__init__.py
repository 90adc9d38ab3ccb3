"""Long drills of what may go wrong: python -m tests.drills [name ...]."""
