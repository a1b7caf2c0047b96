"""Everything you follow, collected on time, exactly once, and given back anywhere."""

__version__ = "0.1.0"
