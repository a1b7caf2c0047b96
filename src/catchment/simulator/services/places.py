"""All services of a world, by where they answer."""

from __future__ import annotations

from collections.abc import Mapping

from catchment.simulator.messages import Place
from catchment.simulator.services.github import GithubTrending
from catchment.simulator.services.hackernews import HackerNews
from catchment.simulator.services.inbox import Inbox
from catchment.simulator.services.jsonapi import JsonApi
from catchment.simulator.services.reddit import Reddit
from catchment.simulator.services.weibo import WeiboService
from catchment.simulator.services.xhs import XhsService
from catchment.simulator.world import World


def service_places(world: World) -> Mapping[str, Place]:
    """For the `places` of a simulated web: each service then has its base address at the root."""
    reddit = Reddit(world.timeline)
    return {
        "/v0": HackerNews(world.timeline, seed=world.seed),
        "/r": reddit,
        "/subreddits": reddit,
        "/trending": GithubTrending(world.timeline),
        "/api": JsonApi(world.timeline),
        "/inbox": Inbox(),
        **XhsService(world).places(),
        **WeiboService(world).places(),
    }
