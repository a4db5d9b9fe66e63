"""Readers of platforms: nodes with speeds, links with bandwidths.

tree     comma-separated, one row per node, parents first (Grid'5000 as a tree, after SimGrid):
         node,parent,hosts,speed_flops_per_host,host_link_bandwidth_Bps,uplink_id,
         uplink_bandwidth_Bps; other columns are reported
OptorSim one line per site: worker nodes, number of storage elements, their sizes, then the
         bandwidth (Mbit/s) of the link to every site, 0 where there is none; # begins a comment,
         and #3)NAME names a site; the file's name ends in .conf or .conf.gz
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from optsched.problem import InputError
from optsched.traces.columns import Number, missing_columns, read_columns, shown
from optsched.traces.lines import first_row, read_lines

TREE = (
    "node", "parent", "hosts", "speed_flops_per_host", "host_link_bandwidth_Bps", "uplink_id",
    "uplink_bandwidth_Bps",
)  # fmt: skip
SITE_NAME = re.compile(r"#(\d{1,9})\)(.*)")
MBIT = 1e6 / 8  # bytes
FLOPS = Number("flop/s", high=1e18, may_be_empty=True)
BYTES = Number("byte/s", high=1e18, may_be_empty=True)
HOSTS = Number("hosts", whole=True)


@dataclass(frozen=True)
class RecordedPlatform:
    """Nodes and links of a file."""

    format: str
    names: Sequence[str]
    hosts: Sequence[int]  # how many there are at each node
    speed: Sequence[float] | None  # flop/s of one host; None: not stated
    links: Sequence[tuple[int, int, float]]  # ends, bandwidth (byte/s) in both directions


def read_platform(path: Path) -> RecordedPlatform:
    """Read a platform; the format is known by the name (``*.conf``: OptorSim) or its columns.

    Raises
    ------
    InputError
        The file cannot be read, or a line is wrong; the message names it.
    """
    optorsim = path.name.lower().removesuffix(".gz").endswith(".conf")
    return _optorsim(path) if optorsim else _tree(path)


def _tree(path: Path) -> RecordedPlatform:
    names = first_row(path).fields
    if not set(TREE) <= set(names):
        raise missing_columns(path, names, {"tree": TREE})
    table = read_columns(path, names)
    if not len(table):
        raise InputError(f"{path}: has no rows, expected one per node")
    node, parent, uplink = table.text("node"), table.text("parent"), table.text("uplink_id")
    hosts = table.numbers("hosts", HOSTS)
    speed = table.numbers("speed_flops_per_host", FLOPS)
    inner = table.numbers("host_link_bandwidth_Bps", BYTES)
    width = table.numbers("uplink_bandwidth_Bps", BYTES)
    table.warn_unread("tree", ("kind",))
    place: dict[str, int] = {}
    labels = list(node)
    counts = [int(h) for h in hosts]
    speeds = [0.0 if s != s else float(s) for s in speed]
    inners = [float("inf") if w != w else float(w) for w in inner]
    shared = _shared(parent, uplink)
    hubs: dict[str, int] = {}
    links: list[tuple[int, int, float]] = []
    for i, (name, above) in enumerate(zip(node, parent, strict=True)):
        where = f"{path}, line {table.line[i]}"
        if name in place:
            raise InputError(f"{where}: node {name!r} is listed twice, expected once")
        place[name] = i
        if not above:
            if i:
                raise InputError(f"{where}: node {name!r} has no parent, expected one root, first")
            continue
        if above not in place:
            raise InputError(f"{where}: parent {above!r} is not above it, expected parents first")
        if width[i] != width[i]:
            raise InputError(f"{where}: has no uplink bandwidth, expected byte/s of the uplink")
        top, carried = place[above], float(width[i])
        if uplink[i] in shared:  # one link for several nodes: a hub, and what their hosts can take
            if uplink[i] not in hubs:
                hubs[uplink[i]] = len(labels)
                labels.append(uplink[i])
                counts.append(0)
                speeds.append(0.0)
                inners.append(float("inf"))
                links.append((top, hubs[uplink[i]], carried))
            top = hubs[uplink[i]]
        at_hosts = counts[i] * inners[i] if counts[i] else carried
        links.append((top, i, min(carried, at_hosts)))
    return RecordedPlatform("tree", labels, counts, speeds, links)


def _shared(parent: Sequence[str], uplink: Sequence[str]) -> set[str]:
    """Return the uplinks that several nodes below one parent have in common."""
    seen = Counter(zip(parent, uplink, strict=True))
    return {u for (_, u), number in seen.items() if u and number > 1}


def _optorsim(path: Path) -> RecordedPlatform:
    named: dict[int, str] = {}
    rows: list[tuple[int, list[float]]] = []
    for line, text in read_lines(path):
        found = SITE_NAME.match(text.strip())
        if found:
            named[int(found[1])] = found[2].strip()
        if not text.strip() or text.lstrip().startswith("#"):
            continue
        rows.append((line, [_amount(path, line, field) for field in text.split()]))
    sites = len(rows)
    if not sites:
        raise InputError(f"{path}: has no sites, expected one line per site")
    hosts, matrix = [], []
    for line, values in rows:
        for number, what in zip(values, ("worker nodes", "storage elements"), strict=False):
            if number != int(number) or number > HOSTS.high:
                raise InputError(
                    f"{path}, line {line}: has {number:g} {what}, expected a whole number of at "
                    f"most {HOSTS.high:g}"
                )
        elements = int(values[1]) if len(values) > 1 else 0
        if len(values) != 2 + elements + sites:
            raise InputError(
                f"{path}, line {line}: has {len(values)} numbers, expected {2 + elements + sites}: "
                f"workers, storage elements, {elements} sizes, and {sites} bandwidths"
            )
        hosts.append(int(values[0]))
        matrix.append(values[2 + elements :])
    links = []
    _mend(matrix)
    for i in range(sites):
        for j in range(i + 1, sites):
            # a link that only one end lists is there all the same
            width = min(filter(None, (matrix[i][j], matrix[j][i])), default=0.0)
            if width:
                links.append((i, j, width * MBIT))
    names = [named.get(i, f"site {i}") for i in range(sites)]
    return RecordedPlatform("OptorSim", names, hosts, None, links)


def _amount(path: Path, line: int, text: str) -> float:
    try:
        amount = float(text)
    except ValueError:
        amount = float("nan")
    if not 0 <= amount <= BYTES.high:
        raise InputError(
            f"{path}, line {line}: holds {shown(text)}, expected numbers of at least 0 and at most "
            f"{BYTES.high:g}"
        )
    return amount


def _mend(matrix: list[list[float]]) -> None:
    """Drop a link i -> j that j does not list where some m lists an equal one to i, and i none.

    The entry has slipped into a wrong column: site 27 of gridpp_grid_2004.conf.
    """
    sites = range(len(matrix))
    alone = [(i, j) for i in sites for j in sites if matrix[i][j] and not matrix[j][i]]
    listed = Counter((j, matrix[i][j]) for i, j in alone)
    for i, j in alone:
        if listed[i, matrix[i][j]]:
            listed[j, matrix[i][j]] -= 1
            matrix[i][j] = 0.0
