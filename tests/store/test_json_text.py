"""JSON in columns: whatever went in comes out, and what earlier releases wrote is read."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catchment.store.types import dumps, loads

# Half a surrogate pair included: strangers' texts hold anything.
TEXTS = st.text(st.characters())
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
)


@given(VALUES)
def test_what_went_in_comes_out(value):
    assert loads(dumps(value)) == value


@given(VALUES)
def test_what_the_standard_library_wrote_is_read_and_the_other_way_round(value):
    assert loads(json.dumps(value)) == value
    assert json.loads(dumps(value)) == value


def test_what_is_no_number_stays_none():
    assert math.isnan(loads(dumps(math.nan)))
    assert loads(dumps([math.inf, -math.inf])) == [math.inf, -math.inf]


def test_a_value_that_json_has_no_word_for_is_refused():
    with pytest.raises(TypeError, match="object"):
        dumps({"when": object()})
