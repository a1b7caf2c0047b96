"""How fast the product is, measured: against others, against a million sources, and over time."""
