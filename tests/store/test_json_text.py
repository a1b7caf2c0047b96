"""JSON in columns: whatever went in comes out, and what earlier releases wrote is read."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catchment.store import json_text

# Half a surrogate pair included: strangers' texts hold anything.
TEXTS = st.text(st.characters())
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
)


@given(VALUES)
def test_what_went_in_comes_out(value):
    assert json_text.loads(json_text.dumps(value)) == value


@given(VALUES)
def test_what_the_standard_library_wrote_is_read_and_the_other_way_round(value):
    assert json_text.loads(json.dumps(value)) == value
    assert json.loads(json_text.dumps(value)) == value


def test_what_is_no_number_stays_none():
    assert math.isnan(json_text.loads(json_text.dumps(math.nan)))
    assert json_text.loads(json_text.dumps([math.inf, -math.inf])) == [math.inf, -math.inf]


def test_a_value_that_json_has_no_word_for_is_refused():
    with pytest.raises(TypeError, match="object"):
        json_text.dumps({"when": object()})
