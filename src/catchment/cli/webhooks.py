"""`catchment hooks`: who is told of what happens."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from catchment.cli.console import AsJson, columns_of, print_json, print_list, print_result, say, storable
from catchment.cli.session import with_new_store, with_system
from catchment.domain.outbox import WebhookFormat

if TYPE_CHECKING:
    from catchment.domain.outbox import Webhook

hooks = typer.Typer(name="hooks", help="Webhooks: have new items posted to a URL, signed.", no_args_is_help=True)

HookId = Annotated[
    int, typer.Argument(metavar="ID", help="The webhook's number, as `hooks list` shows it.", callback=storable)
]
DELIVERY_COLUMNS = ("id", "topic", "webhook_id", "created_at", "attempts", "next_try_at", "delivered_at", "last_error")


@hooks.command()
def add(
    url: Annotated[str, typer.Argument(help="Where events are posted to, or an address of Apprise.")],
    *,
    name: Annotated[str, typer.Option(help="How it is called here.")],
    topic: Annotated[
        list[str] | None, typer.Option(help="What it listens to; left out, all, or with --feed items.new.")
    ] = None,
    form: Annotated[
        WebhookFormat, typer.Option("--format", help="The form in which it takes events.")
    ] = WebhookFormat.JSON,
    feed: Annotated[
        str, typer.Option(help="Of new items only those of this saved feed, by its short name.", metavar="SLUG")
    ] = "",
    secret: Annotated[str, typer.Option(help="What a Lark bot signs with; for json one is made up.")] = "",
    allow_private: Annotated[bool, typer.Option("--allow-private", help="It may be at a private address.")] = False,
    as_json: AsJson = False,
) -> None:
    """Add a webhook. Its secret, which deliveries are signed with, is shown only now.

    Example: catchment hooks add https://example.org/hook --name digest --topic items.new
    """
    from catchment.manage.webhooks import NewWebhook, usual_topics

    new = NewWebhook(
        name=name,
        url=url,
        topics=tuple(topic or usual_topics(feed)),
        allow_private=allow_private,
        secret=secret,
        format=form,
        feed=feed,
    )
    hook, secret = with_new_store(lambda system: system.webhooks.add(new))
    if as_json:
        print_json({**_shape(hook), "secret": secret})
    else:
        narrowed = f", of new items those of the feed {hook.feed}" if hook.feed else ""
        typer.echo(f"Webhook {hook.id} ({hook.name}) is told of {', '.join(hook.topics)}{narrowed}.")
        if secret:
            typer.echo(f"Secret (shown only now): {secret}")


@hooks.command("list")
def list_(*, as_json: AsJson = False) -> None:
    """List the webhooks.

    Example: catchment hooks list
    """
    found = with_system(lambda system: system.webhooks.list())
    print_list(
        [_shape(hook) for hook in found],
        ("id", "name", "url", "topics", "feed", "format", "active"),
        ((one.id, one.name, one.url, one.topics, one.feed, one.format, one.is_active) for one in found),
        as_json=as_json,
    )


@hooks.command()
def remove(webhook_id: HookId) -> None:
    """Remove a webhook, with everything on its way to it.

    Example: catchment hooks remove 2
    """
    with_system(lambda system: system.webhooks.remove(webhook_id))
    say(f"Webhook {webhook_id} is removed.")


@hooks.command()
def ping(webhook_id: HookId, *, as_json: AsJson = False) -> None:
    """Send a test message; a running `catchment up` delivers it.

    Example: catchment hooks ping 2
    """
    delivery = with_system(lambda system: system.webhooks.ping(webhook_id))
    print_result(delivery, f"Event {delivery.event_id} is on its way.", as_json=as_json)


@hooks.command()
def deliveries(
    *,
    webhook: Annotated[int | None, typer.Option(help="Only of this webhook.", metavar="ID", callback=storable)] = None,
    limit: Annotated[int, typer.Option(min=1, max=500, help="How many, the newest first.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List events and what became of them.

    Example: catchment hooks deliveries --webhook 2
    """
    found = with_system(lambda system: system.webhooks.deliveries(webhook_id=webhook, limit=limit))
    print_list(found, *columns_of(DELIVERY_COLUMNS, found), as_json=as_json)


@hooks.command()
def redeliver(
    delivery_id: Annotated[
        int, typer.Argument(metavar="ID", help="The delivery, as `hooks deliveries` shows it.", callback=storable)
    ],
    *,
    as_json: AsJson = False,
) -> None:
    """Send an event again, under the same id.

    Example: catchment hooks redeliver 17
    """
    delivery = with_system(lambda system: system.webhooks.redeliver(delivery_id))
    print_result(delivery, f"Event {delivery.event_id} is on its way again.", as_json=as_json)


def _shape(hook: Webhook) -> dict[str, Any]:
    """Without the secret, sealed as it is, and without what opens doors in the URL."""
    return {name: value for name, value in asdict(hook).items() if name != "secret"}
