"""A run as one HTML page: what it was told, what it learned and what it looked at."""
