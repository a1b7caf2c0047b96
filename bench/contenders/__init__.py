"""Those that collect the same feeds from the same server, each in a process of its own."""
