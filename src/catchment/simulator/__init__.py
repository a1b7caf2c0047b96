"""An offline web on loopback sockets: it plays the outside world for the demo, the tests and the bench.

It imports nothing of the product, so that what it serves never depends on what is being judged.
"""
