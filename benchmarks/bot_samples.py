"""Make the sample of family `bot`: a platform of sites and clusters, and a list of applications.

    python benchmarks/bot_samples.py        (writes optsched/samples/; the same files every time)

Nothing is copied from a real platform. What is imitated: sites hang on a backbone, clusters of
equal hosts on sites, and the cabinets of one cluster share a link.
"""

from __future__ import annotations

from pathlib import Path

SAMPLES = Path(__file__).parent.parent / "optsched" / "samples"
COLUMNS = (
    "node", "parent", "hosts", "speed_flops_per_host", "host_link_bandwidth_Bps", "uplink_id",
    "uplink_bandwidth_Bps",
)  # fmt: skip
PLATFORM = [
    ("north", "", 0, "", "", "", ""),
    ("south", "north", 0, "", "", "backbone", 1.25e9),
    ("coast", "north", 0, "", "", "coast-link", 3.0e8),
    ("oak", "north", 64, 6.0e9, 1.25e8, "oak-up", 1.25e9),
    ("elm", "north", 24, 1.1e10, 1.25e8, "elm-up", 1.25e9),
    ("ash-1", "south", 40, 4.5e9, 1.25e8, "ash-switch", 6.25e8),
    ("ash-2", "south", 40, 4.5e9, 1.25e8, "ash-switch", 6.25e8),
    ("yew", "south", 16, 2.0e10, 1.25e8, "yew-up", 1.25e9),
    ("gull", "coast", 20, 5.0e9, 1.25e8, "gull-up", 1.0e8),
    ("tern", "coast", 12, 8.0e9, 1.25e8, "tern-up", 1.0e8),
]
APPLICATIONS = [
    ("name", "flop", "bytes", "return_bytes", "weight"),
    ("simulate", 4.0e11, 2.0e6, 5.0e5, 1),
    ("align", 6.0e10, 8.0e7, 1.0e6, 1),
    ("filter", 2.0e9, 1.5e8, 1.0e5, 2),
]


def main() -> None:
    """Write both lists."""
    SAMPLES.mkdir(exist_ok=True)
    for name, rows in (("platform.csv", [COLUMNS, *PLATFORM]), ("applications.csv", APPLICATIONS)):
        text = "".join(",".join(map(_written, row)) + "\n" for row in rows)
        (SAMPLES / name).write_text(text)


def _written(x: object) -> str:
    return f"{x:g}" if isinstance(x, float) else str(x)


if __name__ == "__main__":
    main()
