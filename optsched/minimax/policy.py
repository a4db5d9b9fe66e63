"""Optimal online policy of a minimax game, for simulation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from optsched.declared.events import Decision, Event, Online, Public
from optsched.files.atomic_io import writable, write_whole
from optsched.minimax.certificate import Policy
from optsched.minimax.tree import GameTree
from optsched.numbers.streams import Streams
from optsched.problem import PolicyError, Prior

Node = list[tuple[int, list[int], dict[str, int]]]
SOURCE = '''"""The best possible online algorithm on a set of instances, written by optsched."""

from optsched.minimax.policy import Optimal

policy = Optimal.read(
    r"""{text}"""
)
'''


class Optimal(Online):
    """The best online algorithm on a set of instances; it draws its decisions.

    Parameters
    ----------
    nodes : list
        Each has choices: how often it is taken, the values of the variables to be decided, and the
        node that follows each event, by the event's digest. The first node is before all events.
    name : str
    """

    def __init__(self, nodes: Sequence[Node], name: str = "minimax") -> None:
        self.nodes, self.name = nodes, name

    def __call__(self) -> Optimal:
        """Return a new one: nothing is shared between runs."""
        return Optimal(self.nodes, self.name)

    @classmethod
    def of(cls, tree: GameTree, policy: Policy, name: str = "minimax") -> Optimal:
        """Return the policy of a certificate, which is trusted."""
        digests = [h.event and digest(h.event) for h in tree.histories]
        nodes: list[Node] = [[] for _ in policy]
        waiting = [(0, 0)]
        for k, h in waiting:
            children = tree.histories[h].children
            for flow, values, nexts in policy[k]:
                follow = {}
                for c, n in zip(children, nexts, strict=True):
                    follow[str(digests[c])] = n
                    waiting.append((n, c))
                nodes[k].append((flow, list(values), follow))
        return cls(nodes, name)

    @classmethod
    def read(cls, text: str) -> Optimal:
        """Return the policy of a text that `save` has written."""
        return cls(**json.loads(text))

    def save(self, path: Path | str) -> Path:
        """Write the policy as a file of Python, whose name for commands is ``FILE.py:policy``.

        Raises
        ------
        InputError
            The file cannot be written.
        """
        target = writable(Path(path))
        text = json.dumps({"name": self.name, "nodes": self.nodes})
        write_whole(target, SOURCE.replace("{text}", text))
        return target

    def start(self, public: Public, prior: Prior, streams: Streams) -> None:
        """Forget every earlier run."""
        super().start(public, prior, streams)
        self.follow = self.nodes[0][0][2]

    def decide(self, event: Event) -> Decision:
        """Draw one of the choices of the node that the event leads to."""
        node = self.follow.get(digest(event))
        if node is None:
            raise PolicyError(
                f"policy {self.name}: time {event.time:g}: what is revealed happens in none of the "
                "instances that it was made for"
            )
        choices = self.nodes[node]
        drawn = int(self.random.random() * 2**53) * sum(flow for flow, _, _ in choices)
        for flow, values, follow in choices:
            drawn -= flow << 53
            if drawn < 0:
                self.follow = follow
                return dict(zip(event.decide, map(float, values), strict=True))
        raise AssertionError


def digest(event: Event) -> str:
    """Return the key of an event."""
    return sha256(event.model_dump_json().encode()).hexdigest()
