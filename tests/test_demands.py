"""The manifest of demands is whole, and the tests link to what is in it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.conftest import COLLECTED
from tests.demand import TAGS, Demand, chosen, demand, faults, links_of, read_manifest, state_of
from tests.demands_report import counts

ONE = Demand("000-01", "It runs.", "notes", ("unit", "real"))


def test_every_link_in_the_tree_names_a_demand_and_a_tag_that_it_has(request: pytest.FixtureRequest) -> None:
    """ours: what `make demands` refuses also fails the tests."""
    collected = request.session.stash[COLLECTED]
    assert faults(read_manifest(), links_of(collected)) == []


def test_the_manifest_is_whole() -> None:
    """ours: 292 demands of five documents, numbered without a gap, each a sentence with a source and known tags."""
    demands = read_manifest()
    for seed, last in {"000": 42, "001": 90, "002": 52, "003": 56, "004": 52}.items():
        assert [id for id in demands if id.startswith(seed)] == [f"{seed}-{n:02}" for n in range(1, last + 1)]
    for each in demands.values():
        assert each.says.endswith(".") and each.source
        assert each.tags and set(each.tags) <= set(TAGS)


def test_no_two_demands_say_the_same() -> None:
    """ours"""
    sentences = [each.says for each in read_manifest().values()]
    assert len(set(sentences)) == len(sentences)


def test_an_unknown_id_is_a_fault() -> None:
    """ours"""
    assert faults({"000-01": ONE}, {("000-99", "unit"): ["t"]}) == ["t is linked to 000-99, which is not in the manifest"]


def test_a_tag_that_the_demand_does_not_have_is_a_fault() -> None:
    """ours"""
    assert faults({"000-01": ONE}, {("000-01", "lib"): ["t"]}) == ["t is linked to 000-01 as lib, which asks for unit, real"]


def test_proven_and_explained_at_once_is_a_fault() -> None:
    """ours"""
    explained = replace(ONE, explained={"real": "no CLI does it, measured on 2.1.326"})
    assert len(faults({"000-01": explained}, {("000-01", "real"): ["t"]})) == 1
    assert faults({"000-01": explained}, {("000-01", "unit"): ["t"]}) == []


def test_an_explanation_of_a_tag_that_is_not_there_is_a_fault() -> None:
    """ours"""
    assert len(faults({"000-01": replace(ONE, explained={"bot": "…"})}, {})) == 1


def test_a_pair_is_proven_by_a_test_explained_by_words_and_else_open() -> None:
    """ours"""
    explained = replace(ONE, explained={"real": "no CLI does it"})
    assert state_of(ONE, "unit", {("000-01", "unit"): ["t"]}) == "proven"
    assert state_of(ONE, "real", {("000-01", "unit"): ["t"]}) == "open"
    assert state_of(explained, "real", {}) == "explained"


def test_the_count_has_one_line_a_document_and_tag_and_a_total() -> None:
    """ours"""
    other = replace(ONE, id="002-01", explained={"real": "no CLI does it"})
    lines = counts({"000-01": ONE, "002-01": other}, {("000-01", "real"): ["t"]}, TAGS)
    assert lines == [
        "000 unit  0 proven  0 explained  1 open",
        "000 real  1 proven  0 explained  0 open",
        "002 unit  0 proven  0 explained  1 open",
        "002 real  0 proven  1 explained  0 open",
        "total  1 proven  1 explained  2 open",
    ]


@pytest.mark.parametrize(
    ("only", "ids"),
    [
        ("000-01", ["000-01"]),
        ("000-01..03,07", ["000-01", "000-02", "000-03", "000-07"]),
        ("003-56, 001-89…90", ["001-89", "001-90", "003-56"]),
        ("002-51,52 000-42", ["000-42", "002-51", "002-52"]),
    ],
)
def test_a_filter_names_single_ones_and_ranges(only: str, ids: list[str]) -> None:
    """ours"""
    assert list(chosen(read_manifest(), only)) == ids


def test_a_filter_takes_a_whole_document() -> None:
    """ours"""
    assert len(chosen(read_manifest(), "002")) == 52


@pytest.mark.parametrize("only", ["000-43", "007", "12", "x"])
def test_a_filter_that_names_nothing_is_refused(only: str) -> None:
    """ours"""
    with pytest.raises(ValueError):
        chosen(read_manifest(), only)


@pytest.mark.parametrize(("ids", "tag"), [((), "unit"), (("000-01",), "reel")])
def test_a_link_without_ids_or_with_an_unknown_tag_is_refused_where_it_is_written(ids: tuple[str, ...], tag: str) -> None:
    """ours"""
    with pytest.raises(ValueError):
        demand(*ids, tag=tag)


def test_marks_reach_functions_classes_and_parameters_but_not_what_is_skipped(pytester: pytest.Pytester) -> None:
    """ours"""
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function")
    items = pytester.getitems(
        """
        import pytest
        from tests.demand import demand

        @demand("000-01", "000-02")
        @demand("000-03", tag="real")
        def test_one(): pass

        @demand("000-04")
        class TestTwo:
            @pytest.mark.parametrize("n", [pytest.param(1, marks=demand("000-05")), 2])
            def test_three(self, n): pass

        @demand("000-06")
        @pytest.mark.skip
        def test_four(): pass
        """
    )
    links = links_of(items)
    assert {pair: len(tests) for pair, tests in links.items()} == {
        ("000-01", "unit"): 1,
        ("000-02", "unit"): 1,
        ("000-03", "real"): 1,
        ("000-04", "unit"): 2,
        ("000-05", "unit"): 1,
    }
