"""Sites as feeds under Prefect, which is an extra.

`catchment.flows.sitemaps` has the flows, `catchment.flows.serving` their deployments, and `catchment.flows.work` what
they do, which knows nothing of Prefect.
"""
