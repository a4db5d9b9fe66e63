"""Minimax game between a set of instances and online algorithms: optimal and given policies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from optsched.core.simulation import simulate
from optsched.declared.model import Declared
from optsched.files.format import load_instance, write_json
from optsched.minimax import solve
from optsched.minimax.certificate import Certificate, Proved
from optsched.minimax.files import Claim
from optsched.minimax.menu import Menu
from optsched.minimax.policy import Optimal
from optsched.minimax.standing import Played, Standing, must_name_policies, standing
from optsched.minimax.tree import GameTree, titled
from optsched.numbers import settings
from optsched.problem import InputError, Policy, PolicyError, get_family
from optsched.process.garbage import no_garbage
from optsched.process.loading import is_named_in_file, load_from_file


@dataclass(frozen=True, eq=False)
class Game:
    """A set of instances, the best online algorithms on it, and the proof that none is better.

    Values are those of an algorithm divided by the optimum, on the instance on which that is
    worst: at least 1 for a minimization, at most 1 for a maximization.
    """

    tree: GameTree
    certificate: Certificate
    proof: Proved

    @property
    def instances(self) -> Sequence[Declared]:
        """The instances."""
        return self.tree.instances

    @property
    def value(self) -> float:
        """Ratio of the randomized algorithm, which is the best one if it is the ``bound``."""
        return float(self.proof.reached)

    @property
    def bound(self) -> float:
        """Bound on the ratio of every randomized algorithm."""
        return float(self.proof.proved)

    @property
    def deterministic(self) -> float:
        """Ratio of the best deterministic algorithm; no other one is better."""
        return float(self.proof.deterministic)

    @property
    def distribution(self) -> list[Fraction]:
        """The adversary's probability of every instance."""
        whole = sum(self.certificate.weights)
        return [Fraction(w, whole) for w in self.certificate.weights]

    @cached_property
    def policy(self) -> Optimal:
        """The best randomized algorithm; `optsched.simulate` runs it."""
        return Optimal.of(self.tree, self.certificate.randomized)

    @cached_property
    def deterministic_policy(self) -> Optimal:
        """The best deterministic algorithm."""
        name = "minimax-deterministic"
        return Optimal.of(self.tree, self.certificate.deterministic, name)

    def standing(
        self, policy: Policy | str, *, runs: int = 1, seed: int = 0, sandbox: bool = False
    ) -> Standing:
        """Return the ratio of a policy on these instances.

        Parameters
        ----------
        policy : Policy or str
        runs : int
            On every instance, with seeds from ``seed`` on; more than one if it draws.
        seed : int
        sandbox : bool
            As in :func:`optsched.simulate`.

        Raises
        ------
        PolicyError
            The policy fails, breaks a constraint, or has foresight: it decides differently on two
            instances whose events are the same until then.
        """
        settings.whole(runs=runs)
        made = [
            [simulate(inst, policy, seed=seed + k, sandbox=sandbox) for k in range(runs)]
            for inst in self.instances
        ]
        solutions = tuple(tuple(run.schedule for run in some) for some in made)
        first = made[0][0]
        how: dict[str, Any] = {"sealed": first.sealed, "guards": first.guards}
        played = Played(policy=first.policy, seed=seed, runs=solutions, **how)
        try:
            return standing(self.tree, self.proof, played)
        except ValueError as err:
            raise PolicyError(f"policy {played.policy}: {err}") from err

    def save(self, path: Path | str, standings: Sequence[Standing] = ()) -> None:
        """Write instances and certificate, for `optsched verify` and the second checker.

        ``standings`` are those of the policies whose decisions are written as well.

        Raises
        ------
        InputError
            The file cannot be written, or two policies have one name.
        """
        family = get_family(self.instances[0].family)
        must_name_policies(family, [one.played for one in standings])
        proved = {name: str(getattr(self.proof, name)) for name in Claim.model_fields}
        content: dict[str, Any] = {
            "instances": [inst.model_dump(mode="json") for inst in self.instances],
            "certificate": self.certificate.model_dump(mode="json"),
            "claim": Claim.model_validate(proved).model_dump(mode="json"),
        }
        if standings:
            content["played"] = [one.played.model_dump(mode="json") for one in standings]
        write_json(Path(path), "minimax", family.name, content)

    def __str__(self) -> str:
        shown = f"{self.value:.9g} (certified)"
        if not self.proof.is_best:
            shown = f"{self.value:.9g}, at best {self.bound:.9g} (certified)"
        of = {1: "at most {} times the optimum", -1: "at least {} of the optimum"}[self.tree.sign]
        return (
            f"{len(self.instances)} instances, {len(self.tree.histories) - 1} histories, "
            f"{len(self.tree.moves)} states\n"
            f"  best randomized online algorithm: {of.format(shown)}\n"
            f"  best deterministic online algorithm: "
            f"{of.format(f'{self.deterministic:.9g} (certified)')}"
        )

    def __repr__(self) -> str:
        return f"<Game: {self}>"

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield the adversary's tree: depth and text of every history that it can reach.

        A text has the probability, the revealed data, and how often the best algorithm takes
        each decision.
        """
        weights, shares = self.tree.weights(self.certificate.weights), self._decisions()
        waiting = [(0, 0)]
        while waiting:
            h, depth = waiting.pop()
            history = self.tree.histories[h]
            whole = Fraction(weights[h], weights[0])
            shown = ", ".join(f"{text} {float(p):.4g}" for text, p in shares[h].items())
            ends = sum(self.certificate.weights[i] for i in history.ended)
            end = f"; ends {float(Fraction(ends, weights[0])):.4g}" if ends else ""
            yield depth, f"{float(whole):.4g}  {self._revealed(h)}{end}  [{shown}]"
            waiting += [(c, depth + 1) for c in reversed(history.children) if weights[c]]

    def _revealed(self, h: int) -> str:
        """Return the item of a menu that has arrived, or the names of new variables."""
        event = self.tree.histories[h].event
        if event is None:
            return "start"
        place = int(event.time) + 1  # of the item that arrives
        words = {
            tuple(self.instances[i].source.split()[:place])
            for i in self.tree.histories[h].instances
        }
        (first, *others) = words
        if not others and len(first) == place:
            return f"time {event.time:g}: {first[-1]}"
        names = ", ".join(c.name for c in event.columns)
        return f"time {event.time:g}{names and ': '}{names}"

    def _decisions(self) -> list[dict[str, Fraction]]:
        """Return the decision frequencies of the best algorithm for every history."""
        policy = self.certificate.randomized
        whole = sum(flow for flow, _, _ in policy[0])
        found: list[dict[str, Fraction]] = [{} for _ in self.tree.histories]
        waiting, known = [(0, 0)], {0}
        for k, h in waiting:
            history = self.tree.histories[h]
            for flow, values, nexts in policy[k]:
                pairs = zip(history.names, values, strict=True)
                text = " ".join(f"{name}={x}" for name, x in pairs if x) or "nothing"
                found[h][text] = found[h].get(text, Fraction(0)) + Fraction(flow, whole)
                fresh = [(n, c) for n, c in zip(nexts, history.children, strict=True)]
                waiting += [(n, c) for n, c in fresh if n not in known]
                known |= {n for n, _ in fresh}
        return found

    def summary(self) -> dict[str, Any]:
        """Return the object that ``--json`` prints."""
        return {
            "instances": len(self.instances),
            "histories": len(self.tree.histories) - 1,
            "states": len(self.tree.moves),
            "sense": self.instances[0].sense,
            "randomized": {"value": self.value, "bound": self.bound},
            "deterministic": self.deterministic,
            "distribution": [
                {"instance": i, "source": inst.source, "probability": float(p)}
                for i, (inst, p) in enumerate(zip(self.instances, self.distribution, strict=True))
                if p
            ],
        }


@no_garbage()
def minimax(instances: Menu | Iterable[Declared]) -> Game:
    """Return the best competitive ratios on a set of instances, and algorithms that reach them.

    Parameters
    ----------
    instances : sequence of Declared
        Of one declared problem, with bounded integer variables; or the result of `optsched.menu`.

    Returns
    -------
    Game
        Its ``value`` is that of the best randomized online algorithm on its worst instance,
        divided by the optimum; nothing beats its ``bound``. Both are exact, and hold for
        every superset: a bound states that no algorithm is better on more instances.

    Raises
    ------
    InputError
        A variable is continuous or has no finite bounds, an instance is infeasible or has an
        optimum below 0, no online algorithm is feasible on all of them, or they are too many.

    References
    ----------
    Yao (1977); Koller et al. (1996).
    """
    chosen = instances.instances() if isinstance(instances, Menu) else list(instances)
    if not chosen:
        raise InputError("there are no instances, expected at least one")
    for i, inst in enumerate(chosen):
        if not isinstance(inst, Declared):
            kind = getattr(inst, "family", type(inst).__name__)
            raise InputError(f"instance {i}: is of {kind}, expected a declared problem")
        for name in ("sense", "problem"):
            one, other = getattr(chosen[0], name), getattr(inst, name)
            if one != other:
                raise InputError(
                    f"{titled(i, inst)}: its {name} is {other!r}, that of instance 0 is {one!r}, "
                    "expected the same"
                )
    return Game(*solve.solved(chosen))


def planned(plan: Sequence[str]) -> Menu | list[Any]:
    """Return the instances that a command names: ``FILE.py:NAME``, or instance files.

    Raises
    ------
    InputError
        There is nothing of that name, or it is no menu and no list.
    """
    if len(plan) > 1 or not is_named_in_file(plan[0]):
        return [load_instance(path) for path in plan]
    found = load_from_file(plan[0], f"menu {plan[0]!r}")
    if isinstance(found, Menu | list | tuple):
        return found if isinstance(found, Menu) else list(found)
    raise InputError(f"menu {plan[0]!r} is {found!r:.60}, expected an optsched.menu or a list")
