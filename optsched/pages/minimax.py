"""Page of a file of `optsched minimax`, whose content is recomputed first."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path

from optsched.files.provenance import all_versions
from optsched.minimax.files import check_file
from optsched.minimax.game import Game
from optsched.minimax.standing import BEST, DETERMINISTIC, GIVEN, Standing
from optsched.minimax.tree import titled
from optsched.pages.blocks import (
    MOST_ROWS,
    Block,
    Code,
    ColumnHeader,
    Page,
    Section,
    SortableTable,
    TableCell,
    count,
    number,
    sandbox,
)
from optsched.pages.repeat import closing
from optsched.problem import InputError


def page_of_game(path: Path, callback: Callable[[str], None]) -> Page:
    """Return the page of instances and their best online algorithms: what `minimax -o` writes.

    Raises
    ------
    InputError
        It is no such file, or states what cannot be true.
    """
    callback("checking the file")
    found = check_file(path)
    for part in found.parts:
        if not part.accepted:
            raise InputError(f"{path}: {part.what}: rejected: {'; '.join(part.complaints)}")
    assert found.tree is not None
    assert found.proof is not None
    game = Game(found.tree, found.certificate, found.proof)
    facts = {
        "checked": "for this page: the certificate was evaluated, and every decision checked",
        "not checked": "that the policies decided as the file states, and their sandbox",
        "versions of the check": ", ".join(f"{n} {v}" for n, v in all_versions().items()),
    }.items()
    command = f"optsched verify {shlex.quote(path.name)}"
    check = Code("Check all of it again, in exact arithmetic:", command)
    return Page(
        title=path.name,
        subtitle=str(game).splitlines()[0],
        answer=_answer(game, found.standings),
        remarks=[],
        sections=[
            Section("Three numbers", [_standings(game, found.standings)]),
            Section("The adversary", _adversary(game)),
            *closing(path, facts, check),
        ],
    )


def _answer(game: Game, standings: Sequence[Standing]) -> list[str]:
    of = "times the optimum" if game.tree.sign > 0 else "of the optimum"
    price = f"difference between 1 and {game.bound:.6g} is the price of not knowing the future"
    if game.proof.is_best:
        price = f"The {price}; the rest is its own weakness."
    else:
        price = f"At least the {price}."
    return [
        f"No online algorithm is better than {game.bound:.6g} {of} on all of these instances, "
        f"nor on more instances. The {_which(game)} randomized one reaches {game.value:.6g}, "
        f"the best deterministic one {game.deterministic:.6g} (certified).",
        *(
            f"{one.policy} reaches {one.value:.6g} on the instance on which it is worst. {price}"
            for one in standings
        ),
    ]


def _which(game: Game) -> str:
    return "best" if game.proof.is_best else "given"


def _standings(game: Game, standings: Sequence[Standing]) -> SortableTable:
    columns = [
        ColumnHeader("policy"),
        ColumnHeader("value", "divided by the optimum, on the instance on which that is worst"),
        ColumnHeader("standard error", "of the mean of several runs; 0 for one run"),
        ColumnHeader(f"{_which(game)} online algorithm", "what the randomized algorithm reaches"),
        ColumnHeader("optimum"),
        ColumnHeader("runs", "on every instance"),
        ColumnHeader("worst instance"),
        ColumnHeader("sandbox", "whether it ran in one, as the file states; not checked"),
    ]
    ends = number(game.value, ".6g"), number(1.0)
    randomized = BEST if game.proof.is_best else GIVEN
    best = {randomized: game.value, DETERMINISTIC: game.deterministic}
    rows = [
        [TableCell(name), number(value, ".6g"), number(0.0), *ends, *[TableCell("-")] * 3]
        for name, value in best.items()
    ]
    for one in standings:
        shown = number(one.value, ".6g"), number(one.error, ".2g")
        runs = count(len(one.played.runs[0]))
        worst = TableCell(_named(game, one.instance))
        rows.append([TableCell(one.policy), *shown, *ends, runs, worst, sandbox(one.played.seal)])
    return SortableTable(
        "standings", "Each policy, the algorithms of the file, and the optimum", columns, rows
    )


def _named(game: Game, i: int) -> str:
    return titled(i, game.instances[i])


def _adversary(game: Game) -> list[Block]:
    columns = [ColumnHeader("instance"), ColumnHeader("probability"), ColumnHeader("optimum")]
    rows = [
        [TableCell(_named(game, i)), number(float(p)), number(float(game.proof.optima[i]), ".6g")]
        for i, p in enumerate(game.distribution)
        if p
    ]
    lines = [f"{'  ' * depth}{text}" for depth, text in islice(game.lines(), MOST_ROWS + 1)]
    more = [f"only {MOST_ROWS} histories are shown"] if len(lines) > MOST_ROWS else []
    caption = (
        "Its tree: the probability that a history occurs, what has arrived, how likely it ends "
        "there, and in brackets what the randomized algorithm does."
    )
    return [
        SortableTable("distribution", "Instances that the adversary draws", columns, rows),
        Code(caption, "\n".join([*lines[:MOST_ROWS], *more])),
    ]
