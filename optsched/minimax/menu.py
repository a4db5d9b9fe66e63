"""Menus: all instances that sequences of items make, and the test that none reveals the future."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import update_wrapper
from itertools import pairwise, product
from typing import Any

from optsched.declared.leaks import difference
from optsched.declared.model import Declared
from optsched.numbers import settings
from optsched.problem import InputError, PolicyError
from optsched.process.errors import explain


@dataclass
class Menu:
    """A function that makes an instance of a sequence of items; made by :func:`menu`."""

    function: Callable[[tuple[Any, ...]], Declared]
    items: tuple[Any, ...]
    horizon: int
    shortest: int = 1

    def __post_init__(self) -> None:
        update_wrapper(self, self.function)
        self.name = self.function.__name__

    def __call__(self, sequence: Iterable[Any]) -> Declared:
        """Return the instance of a sequence.

        Raises
        ------
        InputError
            The model is none that can be declared.
        PolicyError
            The function fails.
        """
        chosen = tuple(sequence)
        try:
            made = self.function(chosen)
        except InputError:
            raise
        except Exception as err:
            raise PolicyError(f"menu {self.name}, {text_of(chosen)}: {explain(err)}") from err
        if not isinstance(made, Declared):
            raise InputError(
                f"menu {self.name} returned a {type(made).__name__}, expected what "
                "optsched.online returns"
            )
        return made.labeled(problem=self.name, source=text_of(chosen))

    def instances(self) -> list[Declared]:
        """Return the instances of all sequences, in order; neighbours must not reveal the future.

        Two sequences that agree in their first t items must have the same events before time t.
        Where that holds for neighbours in the order, it holds for all.

        Raises
        ------
        InputError
            It does not hold: one line names the first difference.
        """
        lengths = range(self.shortest, self.horizon + 1)
        numbers = range(len(self.items))
        orders = sorted(order for n in lengths for order in product(numbers, repeat=n))
        made = [self([self.items[k] for k in order]) for order in orders]
        for (one, a), (other, b) in pairwise(zip(orders, made, strict=True)):
            shared = next(
                (t for t, (x, y) in enumerate(zip(one, other, strict=False)) if x != y), len(one)
            )
            leak = difference(a, b, float(shared), f"whether {a.source} or {b.source} comes")
            if leak is not None:
                raise InputError(f"menu {self.name} reveals what is still to come: {leak}")
        return made


def text_of(sequence: Sequence[Any]) -> str:
    """Return a sequence as a text for a file."""
    return " ".join(str(item).replace(" ", "") for item in sequence)


def menu(
    *, items: Iterable[Any], horizon: int, shortest: int = 1
) -> Callable[[Callable[[tuple[Any, ...]], Declared]], Menu]:
    """Make a set of instances of a function of a sequence of items.

    The function takes a tuple of items, of which the one at place t arrives at time t, and returns
    what :func:`optsched.online` returns.

    Parameters
    ----------
    items : sequence
        All that can arrive.
    horizon, shortest : int
        Items of the longest sequence, and of the shortest one.

    Raises
    ------
    InputError
        There are no items, or no sequences.
    """
    settings.whole(horizon=horizon, shortest=shortest)
    chosen = tuple(items)
    if not chosen:
        raise InputError("items is empty, expected at least one")
    if not 1 <= shortest <= horizon:
        raise InputError(f"shortest is {shortest}, expected 1 to horizon, {horizon}")
    return lambda function: Menu(function, chosen, horizon, shortest)
