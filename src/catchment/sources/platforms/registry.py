"""The platforms, made from the settings."""

from __future__ import annotations

from catchment.clock import Clock
from catchment.domain.note import Platform
from catchment.settings import Settings
from catchment.sources.platforms.answers import Patience, Platforms
from catchment.sources.platforms.douyin import Douyin
from catchment.sources.platforms.signer import make_signer
from catchment.sources.platforms.weibo import Weibo
from catchment.sources.platforms.xhs import Xhs, XhshowSigner


def make_platforms(settings: Settings, clock: Clock) -> Platforms:
    patience = Patience(
        search=settings.search_timeout, detail=settings.detail_timeout, validate=settings.cookie_validate_timeout
    )
    return {
        Platform.XHS: Xhs(
            base_url=settings.xhs_base_url,
            site_url=settings.xhs_site_url,
            signer=XhshowSigner(),
            clock=clock,
            patience=patience,
        ),
        Platform.WEIBO: Weibo(base_url=settings.weibo_base_url, patience=patience),
        Platform.DOUYIN: Douyin(
            base_url=settings.douyin_base_url, signer=make_signer(settings.douyin_signer), patience=patience
        ),
    }
