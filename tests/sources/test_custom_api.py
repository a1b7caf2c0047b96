"""Any JSON API: how it is asked, how its pages follow each other, and that secrets stay where they belong."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from catchment.clock import ManualClock
from catchment.errors import BadAnswer, BadConfig, HttpError, ParseError
from catchment.fetch.client import Request, Response
from catchment.fetch.pacing import Deferred, PacePolicy
from catchment.redact import redact_text
from catchment.settings import load_settings
from catchment.simulator.services.places import PAGES, POSTS
from catchment.sources.custom_api import _layout
from catchment.sources.paging import ByLink, fill_body, fill_text, next_link, read_paging
from feed_site import FeedSite
from service_visits import START, registry, simulated_services, visitor

pytestmark = pytest.mark.proves("A-31")
SECRET = "s3same-Open-9"


@pytest.fixture
async def site():
    async with FeedSite() as site:
        yield site


def read(document: object, **config: object):
    return _layout(config).read_page(json.dumps(document).encode(), url="https://api.example/v1/posts").items


class TestWhereThingsAre:
    def test_the_usual_fields_need_no_config(self):
        [item] = read({"items": [{"id": 7, "url": "/p/7", "title": "T", "author": "A", "content": "<b>c</b>", "published_at": "2026-02-01T10:00:00Z"}]})  # fmt: skip
        assert item.key == "7"
        assert item.url == "https://api.example/p/7"
        assert (item.title, item.author, item.content) == ("T", "A", "<b>c</b>")
        assert item.published_at == datetime(2026, 2, 1, 10, tzinfo=UTC)

    def test_a_list_by_itself_needs_no_path(self):
        assert [item.key for item in read([{"id": 1}, {"id": 2}])] == ["1", "2"]

    def test_fields_are_found_by_dot_paths_and_json_paths(self):
        post = {"node": {"key": "k", "names": ["A", "B"], "meta": {"at": 1767225600}, "text": {"html": "<p>x</p>"}}}
        [item] = read(
            {"data": {"edges": [post]}},
            items_path="$.data.edges[*].node",
            id_field="key",
            author_field="names",
            date_field="meta.at",
            content_field="$.text.html",
        )
        assert (item.key, item.author, item.content) == ("k", "A, B", "<p>x</p>")
        assert item.published_at == datetime(2026, 1, 1, tzinfo=UTC)

    @pytest.mark.parametrize(
        "date", ["2026-01-01", "2026-01-01T00:00:00+00:00", 1767225600, 1767225600000, "1767225600", 1767225600.0]
    )
    def test_dates_come_in_words_and_in_counts(self, date):
        [item] = read([{"id": 1, "published_at": date}])
        assert item.published_at == datetime(2026, 1, 1, tzinfo=UTC)

    @pytest.mark.proves("A-31")
    @pytest.mark.parametrize("date", ["2026-01-01 00:00:00 UTC", "2026/01/01 00:00", "01.01.2026", "2026年1月1日"])
    def test_dates_as_servers_and_people_write_them_are_read(self, date):
        [item] = read([{"id": 1, "published_at": date}])
        assert item.published_at == datetime(2026, 1, 1, tzinfo=UTC)

    @pytest.mark.parametrize("date", [None, "", "soon", True, [], {}, 1e300, "99999999999999", float("nan")])
    def test_a_date_that_is_none_spoils_nothing(self, date):
        [item] = read([{"id": 1, "published_at": date}])
        assert item.published_at is None or item.published_at.year > 1970

    @pytest.mark.parametrize("known_by", [{"id": 5}, {"url": "https://x.example/5"}, {"title": "Five"}])
    def test_an_item_is_known_by_its_id_or_its_url_or_its_title(self, known_by):
        [before] = read([{**known_by, "content": "old"}])
        [after] = read([{**known_by, "content": "new"}])
        assert before.key == after.key
        assert before.fingerprint != after.fingerprint

    def test_content_is_sanitised(self):
        [item] = read([{"id": 1, "content": "<p>a<script>b</script></p>", "title": "<b>x</b>"}])
        assert (item.title, item.content) == ("x", "<p>a</p>")

    def test_no_items_are_no_failure(self):
        assert read({"items": []}) == ()
        assert read({"data": []}, items_path="$.data[*]") == ()
        assert read({"items": None}) == ()
        assert read({"data": None}, items_path="$.data") == ()
        assert read(None) == ()

    @pytest.mark.proves("A-31")
    @pytest.mark.parametrize(
        ("document", "path"),
        [
            ({"data": {"posts": None}, "errors": [{"message": "rate limited"}]}, "data.posts"),
            ({"errors": [{"message": "rate limited"}]}, "$.data.posts[*]"),
            ({"error": {"code": 429}}, "$.data[*]"),
            ({"error": "quota exceeded"}, ""),
        ],
    )
    def test_an_error_in_the_place_of_items_is_no_empty_list(self, document, path):
        with pytest.raises(ParseError, match="error in the place of items"):
            read(document, items_path=path)

    @pytest.mark.parametrize("said", [{"errors": []}, {"error": None}, {"error": False}, {"error": 0}])
    def test_an_answer_that_says_that_there_was_no_error_is_read(self, said):
        assert read({"items": None, **said}) == ()
        assert len(read({"items": [{"id": 1}], "errors": [{"message": "one of them is missing"}]})) == 1

    @pytest.mark.parametrize(
        ("document", "config"),
        [
            ({"posts": []}, {}),
            ({"items": [1, 2]}, {}),
            ({"items": [{"name": "x"}]}, {}),
            ("words", {}),
            ({"data": {}}, {"items_path": "data.posts"}),
        ],
    )
    def test_a_path_that_leads_nowhere_says_which_one(self, document, config):
        with pytest.raises(ParseError, match=r"items_path|_field"):
            read(document, **config)

    @given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), lambda one: st.lists(one, max_size=4) | st.dictionaries(st.sampled_from(["items", "id", "url", "title", "content", "published_at"]), one)))  # fmt: skip
    def test_any_document_is_items_or_a_parse_error(self, document):
        try:
            items = read(document)
        except ParseError:
            return
        assert all(item.key for item in items)


class TestTemplates:
    def test_moments_are_filled_into_texts_and_objects(self):
        assert (
            fill_text("from {{7_days_ago}} to {{ now }}", START) == "from 2026-02-22T12:00:00Z to 2026-03-01T12:00:00Z"
        )
        filled = json.loads(fill_body({"since": "{{1_days_ago}}", "n": [1, {"x": "{{now}}"}]}, START))
        assert filled == {"since": "2026-02-28T12:00:00Z", "n": [1, {"x": "2026-03-01T12:00:00Z"}]}

    def test_braces_that_are_no_moments_stay(self):
        graphql = "query { a {{b}} {{soon}} {{999999_days_ago}} }"
        assert fill_text(graphql, START) == graphql

    @given(st.integers(0, 99_999))
    def test_any_number_of_days_is_a_moment(self, days):
        moment = datetime.fromisoformat(fill_text(f"{{{{{days}_days_ago}}}}", START))
        assert START - moment == timedelta(days=days)

    @given(st.text(max_size=60))
    def test_any_text_is_a_body(self, text):
        assert isinstance(fill_body({"x": text}, START), bytes)


PAGED = {
    "cursor": {"paging": "cursor", "cursor_path": "meta.next", "cursor_param": "after", "items_path": "data.posts"},
    "pages": {"paging": "page"},
    "links": {"paging": "link"},
    "linked": {"paging": "link", "next_path": "next"},
}


def ending(status: int):
    """An API of two pages with an item each, which says this of any other."""

    async def answer(request: web.Request) -> web.Response:
        page = int(request.query.get("page", "1"))
        if page > 2:
            return web.json_response({"error": "no such page"}, status=status, headers={"Retry-After": "21600"})
        return web.json_response({"items": [{"id": page}], "next": page + 1})

    return answer


class TestPaging:
    @pytest.mark.parametrize("way", PAGED)
    async def test_every_page_is_collected_whichever_way_they_are_linked(self, way):
        async with simulated_services(ManualClock(START)) as api, visitor("") as visit:
            config = {"url": api.url(f"/api/{way}"), "author_field": "author.name", **PAGED[way]}
            fetched = await visit("custom_api", config)
            assert len({item.key for item in fetched.items}) == POSTS
            assert api.hits.of("/api/") <= PAGES + 1
        assert all(item.author and item.published_at for item in fetched.items)

    async def test_without_paging_one_page_is_asked_for(self):
        async with simulated_services(ManualClock(START)) as api, visitor("") as visit:
            fetched = await visit("custom_api", {"endpoint": api.url("/api/pages")})
            assert (len(fetched.items), api.hits.of("/api/")) == (10, 1)

    async def test_no_more_pages_than_allowed(self):
        async with simulated_services(ManualClock(START)) as api, visitor("") as visit:
            config = {"url": api.url("/api/pages"), "paging": "page", "max_pages": 2}
            assert len((await visit("custom_api", config)).items) == 20

    async def test_an_api_that_repeats_its_last_page_for_ever_is_left(self):
        async with simulated_services(ManualClock(START)) as api, visitor("") as visit:
            config = {"url": api.url("/api/forever"), "paging": "page", "max_pages": 100}
            assert len((await visit("custom_api", config)).items) == POSTS
            assert api.hits.of("/api/") == PAGES + 1

    async def test_a_cursor_that_leads_in_a_circle_is_left(self):
        async with simulated_services(ManualClock(START)) as api, visitor("") as visit:
            config = {"url": api.url("/api/circle"), "paging": "cursor", "cursor_path": "meta.next",
                      "cursor_param": "after", "max_pages": 100}  # fmt: skip
            assert len((await visit("custom_api", config)).items) == POSTS
            assert api.hits.of("/api/") == PAGES + 1

    @pytest.mark.parametrize("status", [400, 404, 416])
    async def test_a_numbered_page_that_there_is_none_of_is_the_end(self, site, status):
        async with visitor("") as visit:
            fetched = await visit("custom_api", {"url": site.script(ending(status)), "paging": "page"})
        assert ([item.key for item in fetched.items], fetched.warnings) == (["1", "2"], ())
        assert site.hits["/feed"] == 3

    async def test_the_first_page_has_to_be_there(self, site):
        async with visitor("") as visit:
            with pytest.raises(HttpError):
                await visit("custom_api", {"url": site.script(ending(400)), "paging": "page", "page_start": 3})

    @pytest.mark.parametrize(
        "way", [{"paging": "page"}, {"paging": "cursor", "cursor_path": "next", "cursor_param": "page"}]
    )
    @pytest.mark.parametrize("status", [200, 500, 429])
    async def test_a_later_page_that_fails_costs_no_page_before_it(self, site, status, way):
        async with visitor("") as visit:
            fetched = await visit("custom_api", {"url": site.script(ending(status)), **way})
        assert [item.key for item in fetched.items] == ["1", "2"]
        assert [warning.startswith("broken off at page 3: ") for warning in fetched.warnings] == [True]
        assert fetched.fresh_for == (None if status == 200 else timedelta(hours=6))

    async def test_a_next_page_at_another_origin_is_not_asked_for(self):
        async with simulated_services(ManualClock(START)) as api, visitor("") as visit:
            config = {"url": api.url("/api/elsewhere"), "paging": "link", "next_path": "next"}
            fetched = await visit("custom_api", config)
        [warning] = fetched.warnings
        assert "elsewhere.example" in warning

    @pytest.mark.parametrize("link", ["https://other.example/3", "http://[::1"])
    async def test_a_next_page_that_is_nowhere_does_not_cost_the_pages_before(self, site, link):
        site.serve(json.dumps({"items": [{"id": 2}], "next": link}), path="/2")
        url = site.serve(json.dumps({"items": [{"id": 1}], "next": "/2"}), path="/1")
        async with visitor("") as visit:
            fetched = await visit("custom_api", {"url": url, "paging": "link", "next_path": "next"})
        assert len(fetched.items) == 2
        assert [warning.startswith("broken off at page 2: the next page is at ") for warning in fetched.warnings] == [
            True
        ]

    async def test_json_that_breaks_off_is_a_parse_error(self):
        async with simulated_services(ManualClock(START)) as api, visitor("") as visit:
            with pytest.raises(ParseError):
                await visit("custom_api", {"url": api.url("/api/broken")})

    @pytest.mark.proves("A-34")
    async def test_pages_over_the_budget_do_not_cost_the_pages_before(self):
        async with simulated_services(ManualClock(START)) as api:
            policy = PacePolicy(concurrency=1, spacing_seconds=0, budget_per_minute=2)
            async with visitor("", policy=policy, patience=0.1) as visit:
                config = {"url": api.url("/api/pages"), "paging": "page"}
                assert len((await visit("custom_api", config)).items) == 20
                with pytest.raises(Deferred):
                    await visit("custom_api", config)

    @pytest.mark.parametrize(
        ("header", "link"),
        [
            ('<https://a.example/?page=2>; rel="next"', "https://a.example/?page=2"),
            ('</1>; rel="prev", </3>; title="x"; rel="last next"', "/3"),
            ("<?p=2>; REL=next", "?p=2"),
            ('</1>; rel="nextish"', ""),
            ("nonsense", ""),
            ("", ""),
        ],
    )
    def test_the_link_header_is_read_as_it_is_written(self, header, link):
        assert next_link({"Link": header}) == link

    @given(st.text(max_size=60))
    def test_any_link_leads_to_the_same_origin_or_nowhere(self, link):
        request = Request(url="https://api.example/v1?x=1")
        response = Response(status=200, url=request.url, headers={}, body=b"")
        try:
            following = ByLink(path=lambda document: [document]).after(request, response, link)
        except BadAnswer:
            return
        assert following is None or following.url.startswith("https://api.example/")


class TestHowItIsAsked:
    async def test_a_body_is_posted_with_its_moments_filled_in(self, site):
        asked: list[tuple[str, str | None, object]] = []

        async def answer(request: web.Request) -> web.Response:
            asked.append((request.method, request.headers.get("Content-Type"), await request.json()))
            return web.json_response({"items": [{"id": 1}]})

        config = {"url": site.script(answer), "method": "POST", "body": {"since": "{{2_days_ago}}"}}
        async with visitor("") as visit:
            assert len((await visit("custom_api", config)).items) == 1
        assert asked == [("POST", "application/json", {"since": "2026-02-27T12:00:00Z"})]

    async def test_headers_of_the_config_win_however_they_are_spelt(self, site):
        config = {
            "url": site.serve('{"items": []}'),
            "method": "PUT",
            "body": "<q/>",
            "headers": {"content-type": "text/xml", "ACCEPT": "x/y"},
        }
        async with visitor("") as visit:
            await visit("custom_api", config)
        [request] = site.requests
        assert request.headers.getall("Content-Type") == ["text/xml"]
        assert request.headers.getall("Accept") == ["x/y"]

    async def test_what_did_not_change_is_not_read_again(self, site):
        config = {"url": site.serve('{"items": [{"id": 1}]}')}
        async with visitor("") as visit:
            first = await visit("custom_api", config)
            assert (await visit("custom_api", config, first.memory)).unchanged

    @pytest.mark.proves("A-30")
    async def test_what_did_not_change_is_not_downloaded_again_from_where_a_redirect_leads(self, site):
        async with FeedSite() as other, visitor("") as visit:

            async def answer(request: web.Request) -> web.Response:
                is_known = request.headers.get("If-None-Match") == '"v1"'
                headers = {"ETag": '"v1"'}
                return web.Response(status=304) if is_known else web.json_response([{"id": 1}], headers=headers)

            async def redirect(_: web.Request) -> web.Response:
                raise web.HTTPFound(other.url())

            other.script(answer)
            config = {"url": site.script(redirect)}
            first = await visit("custom_api", config)
            again = await visit("custom_api", config, first.memory)
            assert (again.unchanged, again.memory) == (True, first.memory)
            assert other.requests[-1].headers["If-None-Match"] == '"v1"'
        assert not any("If-None-Match" in request.headers for request in site.requests)


@pytest.mark.proves("A-31", "F-05")
class TestSecrets:
    def config(self, url: str, **more: object) -> dict[str, object]:
        return {"url": url, "headers": {"Authorization": "Bearer ${API_TOKEN}", "X-Team": "t-${API_TOKEN}"}, **more}

    async def test_variables_that_are_allowed_are_filled_into_headers(self, site):
        config = self.config(site.serve('{"items": [{"id": 1}]}'))
        async with visitor("", variables={"API_TOKEN": SECRET}) as visit:
            fetched = await visit("custom_api", config)
        assert site.requests[0].headers["Authorization"] == f"Bearer {SECRET}"
        assert site.requests[0].headers["X-Team"] == f"t-{SECRET}"
        assert SECRET not in repr(fetched)

    @pytest.mark.parametrize("variables", [{}, {"OTHER": "x"}, {"API_TOKEN": ""}])
    async def test_any_other_variable_is_refused_before_anything_is_sent(self, site, variables, monkeypatch):
        monkeypatch.setenv("API_TOKEN", SECRET)
        async with visitor("", variables=variables) as visit:
            with pytest.raises(BadConfig, match="API_TOKEN") as caught:
                await visit("custom_api", self.config(site.serve("[]")))
        assert SECRET not in str(caught.value)
        # The name is that of a secret; the advice that follows it is none.
        assert redact_text(str(caught.value)) == str(caught.value)
        assert not site.requests

    @pytest.mark.parametrize(
        ("body", "status", "error"),
        [("{} for " + SECRET, 200, ParseError), (SECRET, 401, HttpError), (f"<p>{SECRET}</p>", 200, ParseError)],
    )
    async def test_an_answer_that_repeats_the_secret_does_not_bring_it_into_the_error(self, site, body, status, error):
        config = self.config(site.serve(body, status=status))
        async with visitor("", variables={"API_TOKEN": SECRET}) as visit:
            with pytest.raises(error) as caught:
                await visit("custom_api", config)
        assert SECRET not in str(caught.value)

    async def test_a_redirect_to_another_origin_is_not_told_the_secret(self, site):
        async with FeedSite() as other:
            there = other.serve('{"items": []}')

            async def redirect(_: web.Request) -> web.Response:
                raise web.HTTPFound(there)

            async with visitor("", variables={"API_TOKEN": SECRET}) as visit:
                await visit("custom_api", self.config(site.script(redirect)))
            assert SECRET in site.requests[0].headers["X-Team"]
            assert SECRET not in str(other.requests[0].headers)

    async def test_a_link_to_another_origin_is_not_told_the_secret(self, site):
        async with FeedSite() as other:
            other.serve('{"items": [{"id": 2}]}')
            config = self.config(
                site.serve(json.dumps({"items": [{"id": 1}], "next": other.url()})), paging="link", next_path="next"
            )
            async with visitor("", variables={"API_TOKEN": SECRET}) as visit:
                fetched = await visit("custom_api", config)
            assert "another origin" in str(fetched.warnings)
            assert not other.requests

    def test_only_what_the_setting_names_is_taken_from_the_environment(self, tmp_path):
        (tmp_path / ".env").write_text("SECOND=from-file\nTHIRD=not-named\n")
        environ = {"CATCHMENT_API_ENV": "FIRST, SECOND,MISSING", "FIRST": SECRET, "HOME": "/root"}
        settings = load_settings(environ, dotenv=tmp_path / ".env")
        assert settings.api_env_values == {"FIRST": SECRET, "SECOND": "from-file", "MISSING": ""}
        assert SECRET not in repr(settings)


class TestItsConfig:
    def test_the_same_address_read_another_way_is_another_source(self):
        identity = registry().get("custom_api").identity
        base = {"url": "https://api.example/x"}
        assert identity(base) == identity({"endpoint": " https://api.example/x "})
        assert identity(base) == identity({**base, "headers": {"X-Key": "1"}, "keep_days": 3})
        assert identity(base) != identity({**base, "title_field": "name"})
        assert identity(base) != identity({**base, "method": "POST"})

    @pytest.mark.parametrize(
        "wrong",
        [
            {"url": ""},
            {"method": "DELETE"},
            {"body": "x"},
            {"method": "POST", "body": 5},
            {"items_path": "$["},
            {"title_field": 5},
            {"paging": "luck"},
            {"paging": "cursor"},
            {"paging": "page", "page_start": -1},
            {"max_pages": 101},
        ],
    )
    def test_what_cannot_be_is_said(self, wrong):
        with pytest.raises(BadConfig):
            registry().get("custom_api").identity({"url": "https://api.example/x", **wrong})

    def test_no_paging_is_the_default(self):
        assert read_paging({}) is None


@pytest.mark.proves("R-49")
class TestGraphQl:
    QUERY = "query($after: String) { posts(after: $after) { nodes { id } pageInfo { endCursor } } }"

    def config(self, url: str, **values: object) -> dict[str, object]:
        return {
            "url": url,
            "method": "POST",
            "body": {"query": self.QUERY, "variables": {"first": 2}},
            "items_path": "data.posts.nodes",
            "paging": "cursor",
            "cursor_path": "data.posts.pageInfo.endCursor",
            "cursor_body_path": "variables.after",
            **values,
        }

    async def test_the_cursor_goes_into_the_body_of_the_next_request(self, site):
        asked = []

        async def answer(request):
            asked.append(json.loads(await request.read()))
            number = int(asked[-1]["variables"].get("after", "0"))
            page = {"nodes": [{"id": number}], "pageInfo": {"endCursor": str(number + 1) if number < 2 else None}}
            return web.json_response({"data": {"posts": page}})

        async with visitor("") as visit:
            fetched = await visit("custom_api", self.config(site.script(answer)))
        assert [item.key for item in fetched.items] == ["0", "1", "2"]
        assert [one["variables"].get("after") for one in asked] == [None, "1", "2"]
        assert all(one["variables"]["first"] == 2 and one["query"] == self.QUERY for one in asked)

    async def test_a_cursor_that_leads_back_ends_it(self, site):
        async def answer(_):
            number = site.hits["/feed"]
            return web.json_response({"data": {"posts": {"nodes": [{"id": number}], "pageInfo": {"endCursor": "x"}}}})

        async with visitor("") as visit:
            fetched = await visit("custom_api", self.config(site.script(answer)))
        assert len(fetched.items) == site.hits["/feed"] == 2

    @pytest.mark.parametrize("body", [None, "text"])
    def test_without_an_object_there_is_nowhere_to_put_it(self, body):
        with pytest.raises(BadConfig, match="cursor_body_path"):
            registry().identity("custom_api", self.config("https://api.example/graphql", body=body))


@pytest.mark.proves("R-49")
@pytest.mark.parametrize(
    ("charset", "title"), [("gbk", "中文"), ("iso-8859-1", "café"), ("utf-8", "中文"), ("shift_jis", "日本")]
)
@pytest.mark.parametrize("paging", ["none", "page"])
async def test_json_is_read_in_the_charset_that_its_answer_declares(site, charset, title, paging):
    async def answer(_):
        body = json.dumps([{"id": 1, "title": title}], ensure_ascii=False).encode(charset)
        return web.Response(body=body, headers={"Content-Type": f"application/json; charset={charset}"})

    async with visitor("") as visit:
        fetched = await visit("custom_api", {"url": site.script(answer), "paging": paging, "max_pages": 1})
    assert [item.title for item in fetched.items] == [title]
