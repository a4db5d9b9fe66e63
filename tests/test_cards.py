"""What `optsched info` states of a family is what the family states."""

import json
from importlib.resources import files

import pytest

from optsched.cli.commands import info as cards
from optsched.problem import families

STORED = json.loads((files("optsched") / "families" / "cards.json").read_text("utf-8"))


@pytest.mark.parametrize("family", families().values(), ids=families())
def test_a_stored_card_is_that_of_its_family(family):
    assert STORED[family.name] == cards.card(family), "optsched/families/cards.json is out of date"


def test_a_family_from_elsewhere_is_loaded(monkeypatch):
    monkeypatch.setattr(cards, "family_names", lambda: ("sixth",))
    monkeypatch.setattr(cards, "get_family", lambda _: families()["oasis"])
    assert cards.cards() == {"sixth": cards.card(families()["oasis"])}
