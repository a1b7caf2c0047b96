"""Several workers on several machines, by Procrastinate, which is an extra.

`catchment.workers.queue` is all that knows Procrastinate; `catchment.workers.worker` is what one process does.
"""
