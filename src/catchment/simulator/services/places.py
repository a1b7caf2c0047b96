"""All services of a world, by where they answer."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping
from typing import Any

from catchment.simulator.messages import Answer, IncomingRequest, Place, json_answer
from catchment.simulator.services.github import GithubTrending
from catchment.simulator.services.hackernews import HackerNews
from catchment.simulator.services.jsonapi import JsonApi
from catchment.simulator.services.reddit import Reddit
from catchment.simulator.services.weibo import WeiboService
from catchment.simulator.services.xhs import XhsService
from catchment.simulator.world import World

#: The oldest make room for the newest.
MAX_LETTERS = 1000


class Inbox:
    def __init__(self) -> None:
        self._letters: deque[IncomingRequest] = deque(maxlen=MAX_LETTERS)

    def __call__(self, request: IncomingRequest) -> Answer:
        if request.method == "POST":
            self._letters.append(request)
            # A bot of Lark says in these words that all is well; others mind the status alone.
            return json_answer({"code": 0, "msg": "success"})
        shown = json.dumps({"letters": [_letter(one) for one in self._letters]}, ensure_ascii=False, indent=2)
        return Answer(headers=(("Content-Type", "application/json; charset=utf-8"),), body=f"{shown}\n".encode())


def _letter(request: IncomingRequest) -> dict[str, Any]:
    """As JSON where it is that, or else as text."""
    try:
        said = json.loads(request.body)
    except ValueError:
        said = request.body.decode(errors="replace")
    return {"at": request.at.isoformat(timespec="seconds"), "said": said}


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
