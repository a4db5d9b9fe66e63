"""Make the sample trace: a list of jobs in Philly's format, and machines in Alibaba's.

    python benchmarks/make_samples.py        (writes optsched/samples/; the same files every time)

Nothing is copied from a real trace. What is imitated: most jobs are small, gangs are powers of
two, running times spread over three orders of magnitude, submissions come in waves over the day,
few tenants submit most jobs.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

SAMPLES = Path(__file__).parent.parent / "optsched" / "samples"
JOBS, DAYS = 400, 14
GPUS = {1: 0.35, 2: 0.2, 4: 0.2, 8: 0.2, 16: 0.05}  # share of the jobs by number of GPUs
TENANTS = {"vision": 0.4, "speech": 0.3, "ranking": 0.2, "maps": 0.1}
NODES = [  # number, cores, GiB, GPUs, model
    (26, 48, 256, 4, "A"),
    (14, 32, 128, 2, "B"),
    (12, 64, 256, 0, ""),
    (8, 32, 128, 0, ""),
]


def jobs() -> pd.DataFrame:
    """Draw the list of jobs."""
    rng = np.random.default_rng(20240617)
    hour = rng.choice(24 * DAYS, size=JOBS, p=_waves())
    seconds = np.sort(hour * 3600 + rng.integers(0, 3600, JOBS))
    duration = np.clip(np.round(np.exp(rng.normal(np.log(6 * 3600), 1.2, JOBS))), 60, 40 * 3600)
    gpus = rng.choice(list(GPUS), size=JOBS, p=list(GPUS.values()))
    stamps = pd.Timestamp("2024-06-03") + pd.to_timedelta(seconds, unit="s")
    return pd.DataFrame(
        {
            "timestamp": stamps.strftime("%Y-%m-%d %H:%M:%S"),
            "duration": duration,
            "num_gpus": gpus,
            "gpu_time": duration * gpus,
            "cluster": rng.choice(list(TENANTS), size=JOBS, p=list(TENANTS.values())),
        }
    )


def _waves() -> np.ndarray:
    """Return the share of the submissions in each hour: day and night, week and weekend."""
    hours = np.arange(24 * DAYS)
    day = 1.2 + np.sin((hours % 24 - 9) / 24 * 2 * np.pi)
    week = np.where(hours // 24 % 7 < 5, 1.0, 0.4)
    return day * week / (day * week).sum()


def nodes() -> pd.DataFrame:
    """List the machines."""
    rows = [
        (cores * 1000, gib * 1024, gpu, model)
        for number, cores, gib, gpu, model in NODES
        for _ in range(number)
    ]
    table = pd.DataFrame(rows, columns=["cpu_milli", "memory_mib", "gpu", "model"])
    table.insert(0, "sn", [f"node-{k:04d}" for k in range(len(table))])
    return table


def main() -> None:
    """Write both lists."""
    SAMPLES.mkdir(exist_ok=True)
    jobs().to_csv(SAMPLES / "jobs.csv", index=False, lineterminator="\n")
    nodes().to_csv(SAMPLES / "machines.csv", index=False, lineterminator="\n")


if __name__ == "__main__":
    main()
