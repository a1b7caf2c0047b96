"""Sites as feeds under Prefect, which is an extra.

`catchment.flows.sitemaps` has the flows, `catchment.flows.sitemaps` their deployments, and `catchment.flows.state` what
they do, which knows nothing of Prefect.
"""
