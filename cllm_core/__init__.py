"""Jacobi decoding that records every iteration, and the consistency training that makes it fast."""

__version__ = "0.1.0"
