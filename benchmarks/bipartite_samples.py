"""Make the sample of family `bipartite`: pods with device restrictions, and nodes.

    python benchmarks/bipartite_samples.py    (writes optsched/samples/; the same files every time)

Nothing is copied from a real trace. What is imitated: most pods request part of a GPU or for one,
some for none; a third may run on certain models only; creations come in waves.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

SAMPLES = Path(__file__).parent.parent / "optsched" / "samples"
PODS, HOURS = 1500, 120
SPECS = {"": 0.6, "A": 0.12, "B": 0.1, "C": 0.06, "A|B": 0.06, "B|C": 0.04, "A|C": 0.02}
GPUS = {0.0: 0.14, 0.25: 0.16, 0.5: 0.22, 1.0: 0.44, 2.0: 0.03, 8.0: 0.01}
NODES = [  # number, cores, GiB, GPUs, model
    (60, 96, 512, 8, "A"),
    (40, 64, 256, 4, "B"),
    (20, 48, 192, 2, "C"),
    (30, 96, 384, 0, ""),
]


def pods() -> pd.DataFrame:
    """Draw the list of pods."""
    rng = np.random.default_rng(20240711)
    share = 1.3 + np.sin((np.arange(HOURS) % 24 - 9) / 24 * 2 * np.pi)
    hour = rng.choice(HOURS, size=PODS, p=share / share.sum())
    created = np.sort(hour * 3600 + rng.integers(0, 3600, PODS))
    amounts = np.array(list(GPUS))
    gpu = rng.choice(amounts, size=PODS, p=np.array(list(GPUS.values())) / sum(GPUS.values()))
    number = np.ceil(gpu).astype(int)
    spec = rng.choice(list(SPECS), size=PODS, p=list(SPECS.values()))
    cores = np.where(gpu > 0, np.maximum(1, np.round(gpu * 8)), rng.choice([2, 4, 8, 16], PODS))
    run = np.round(np.exp(rng.normal(np.log(3 * 3600), 1.0, PODS))).astype(int)
    return pd.DataFrame(
        {
            "name": [f"pod-{k:04d}" for k in range(PODS)],
            "cpu_milli": (cores * 1000).astype(int),
            "memory_mib": (cores * rng.choice([2, 4], PODS) * 1024).astype(int),
            "num_gpu": number,
            "gpu_milli": np.where(
                number > 0, np.round(1000 * gpu / np.maximum(number, 1)), 0
            ).astype(int),
            "gpu_spec": np.where(number > 0, spec, ""),
            "creation_time": created,
            "deletion_time": created + run,
        }
    )


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
    pods().to_csv(SAMPLES / "pods.csv", index=False, lineterminator="\n")
    nodes().to_csv(SAMPLES / "pod-nodes.csv", index=False, lineterminator="\n")


if __name__ == "__main__":
    main()
