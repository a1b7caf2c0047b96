"""The services that everybody knows, played on loopback: each a place that answers as the real one does."""
