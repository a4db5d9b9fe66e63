"""A cell of an experiment that a process of its own can run without importing anything else."""

RAN = []


def run(cell, time_limit):
    RAN.append(cell["k"])
    return {"square": cell["k"] ** 2, "limit": time_limit, "ratio": float("inf")}
