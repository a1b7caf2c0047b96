"""What is decided about copies without asking anybody: records, tokens, waits, faults of a table."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from catchment.domain.note import WAITS, DueNote, wait_after
from catchment.platforms.bitable import (
    FIELDS,
    MAX_CELL,
    MEANINGS,
    BitableTrouble,
    FieldType,
    Verdict,
    batch_token,
    cells,
    check_fields,
    faults_told,
    identity_in,
    meaning_of,
)

TEXTS = st.text(max_size=20)
COUNTS = st.none() | st.integers(0, 10**12)
NOTES = st.builds(
    DueNote,
    id=st.integers(1),
    platform=st.sampled_from(["xhs", "wb", "dy"]),
    idempotency_key=st.text(min_size=1, max_size=20),
    topic_id=COUNTS,
    note_id=TEXTS,
    url=TEXTS,
    published_at=st.none() | st.integers(0, 10**10).map(lambda seconds: datetime.fromtimestamp(seconds, UTC)),
    title=TEXTS,
    content=TEXTS,
    note_type=TEXTS,
    images=st.lists(TEXTS),
    video_url=st.none() | TEXTS,
    likes=COUNTS,
    collects=COUNTS,
    comments=COUNTS,
    shares=COUNTS,
    author_id=TEXTS,
    author_name=TEXTS,
    tags=st.lists(TEXTS),
    extracted_at=st.integers(0, 10**10).map(lambda seconds: datetime.fromtimestamp(seconds, UTC)),
    exec_meta=st.dictionaries(TEXTS, TEXTS),
    retry_count=st.integers(0, 3),
    last_error_code=st.none() | TEXTS,
    attempts=st.integers(0, 100),
)
IDENTITIES = st.lists(st.tuples(TEXTS, TEXTS), unique=True, max_size=20)


@given(note=NOTES)
def test_a_record_holds_only_what_the_table_takes(note):
    record = cells(note)
    assert set(record) <= set(FIELDS)
    assert identity_in(record) == note.identity
    for name, value in record.items():
        assert isinstance(value, str) is (FIELDS[name] is FieldType.TEXT)
        assert value != ""


@given(note=NOTES, length=st.integers(MAX_CELL - 2, MAX_CELL + 2))
def test_a_text_too_long_for_a_cell_is_cut(note, length):
    long = DueNote(**{**{name: getattr(note, name) for name in DueNote.__slots__}, "content": "x" * length})
    assert len(cells(long)["content"]) == min(length, MAX_CELL)


@given(identities=IDENTITIES, other=IDENTITIES)
def test_a_batch_has_one_token_in_any_order_and_another_batch_another(identities, other):
    token = batch_token(identities)
    assert batch_token(reversed(identities)) == token
    assert uuid.UUID(token).version == 4
    texts = [sorted("/".join(one) for one in batch) for batch in (identities, other)]
    if texts[0] != texts[1] and not any("\n" in text for text in texts[0] + texts[1]):
        assert batch_token(other) != token


@given(pieces=st.lists(TEXTS))
def test_a_text_in_pieces_is_read_as_one(pieces):
    shown = {"platform": "xhs", "idempotency_key": [{"text": piece, "type": "text"} for piece in pieces]}
    assert identity_in(shown) == ("xhs", "".join(pieces))


@given(failures=st.integers(0, 1000), asked_for=st.none() | st.floats(0, 86_400))
def test_waits_grow_to_an_hour_and_are_never_shorter_than_asked_for(failures, asked_for):
    wait = wait_after(failures, asked_for=asked_for)
    assert wait >= max(WAITS[0], timedelta(seconds=asked_for or 0))
    assert wait <= max(WAITS[-1], timedelta(seconds=asked_for or 0))
    assert wait <= wait_after(failures + 1, asked_for=asked_for)


@given(found=st.dictionaries(st.sampled_from(sorted(FIELDS)), st.integers(1, 30)))
def test_a_table_is_sound_only_with_every_field_in_a_type_that_fits(found):
    checks = check_fields(found)
    told = faults_told(checks)
    for check in checks:
        assert (check.verdict is Verdict.MISSING) is (check.name not in found)
        assert (check.name in told.replace(",", "").replace(":", "").split()) is (check.verdict is not Verdict.OK)
    assert bool(told) is any(check.verdict is not Verdict.OK for check in checks)


def test_a_table_with_the_fields_as_they_should_be_is_sound():
    assert faults_told(check_fields(FIELDS)) == ""


@given(code=st.none() | st.integers() | st.sampled_from(sorted(MEANINGS)), status=st.integers(100, 599))
def test_every_answer_that_is_no_yes_has_a_meaning(code, status):
    trouble, meaning = meaning_of(code, status)
    assert trouble in BitableTrouble
    assert meaning
