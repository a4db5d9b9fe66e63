"""Priorities by which a queue with EASY backfilling is ordered at each event.

SJF, LXF; WFP3 and UNICEP (Tang et al., 2009); F1 to F4 (Carastan-Santos and de Camargo, 2017),
which were fitted to simulations; and a multifactor priority like that of Slurm. With q the planned
run time in seconds, n the size of a job (units of the first resource that it needs), r its submit
time and t the time that it has waited:

    sjf   q                          f1  log10(q) n + 870 log10(r)
    lxf   -(t + q) / q               f2  sqrt(q) n + 25,600 log10(r)
    wfp3  -(t / q)^3 n               f3  q n + 6,860,000 log10(r)
    unicep  -t / (q log2(n))         f4  q sqrt(n) + 530,000 log10(r)

The smallest number comes first. log10(r) is taken of r + 1, and log2(n) of n + 1: no logarithm of
0, and no division by it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from optsched.families.rigid.instance import Platform, Submission
from optsched.families.rigid.policies.queue import Conservative, Easy, Queue
from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.streams import Streams
from optsched.problem import Policy, Prior

DAY = 86400.0

Rank = Callable[[Floats, Floats, Floats, Floats], Floats]
"""(q, n, r, t) -> numbers, the smallest first."""

RANKS: Mapping[str, Rank] = {
    "sjf": lambda q, _n, _r, _t: q,
    "lxf": lambda q, _n, _r, t: -(t + q) / q,
    "wfp3": lambda q, n, _r, t: -((t / q) ** 3) * n,
    "unicep": lambda q, n, _r, t: -t / (q * np.log2(n + 1)),
    "f1": lambda q, n, r, _t: np.log10(q) * n + 870 * np.log10(r + 1),
    "f2": lambda q, n, r, _t: np.sqrt(q) * n + 25_600 * np.log10(r + 1),
    "f3": lambda q, n, r, _t: q * n + 6_860_000 * np.log10(r + 1),
    "f4": lambda q, n, r, _t: q * np.sqrt(n) + 530_000 * np.log10(r + 1),
}


class Ordered(Easy):
    """EASY backfilling on a queue that a function of `RANKS` orders.

    Parameters
    ----------
    rank : str
    exact : bool
        Plan with exact run times, else with requested times.
    backfill : bool
        Whether jobs may overtake the head of the queue.
    """

    def __init__(self, rank: str, *, exact: bool = False, backfill: bool = True) -> None:
        self.name, self.rank, self.backfill = rank, RANKS[rank], backfill
        super().__init__(exact=exact)

    def priority(self, now: int, waiting: Ints) -> Floats:
        """Return numbers by which jobs are ordered."""
        t = self.table
        need = t["need"][waiting]
        first = need[np.arange(len(need)), np.argmax(need > 0, axis=1)]
        size = np.maximum(1, t["tasks"][waiting] * first)
        planned, arrival = t["planned"][waiting], t["arrival"][waiting]
        columns = (planned, size, arrival, now - arrival)
        return self.rank(*(column.astype(float) for column in columns))

    def choose(self, now: int) -> list[int]:
        """Return the jobs that start."""
        if self.backfill or not self.waiting:
            return super().choose(now)
        kept, self.waiting = self.waiting, self.ordered(now).tolist()
        chosen = Queue.choose(self, now)
        self.waiting = kept
        return chosen


class Multifactor(Easy):
    """Slurm's multifactor priority with EASY backfilling: a weighted sum of factors in 0..1.

    The factors are the age of a job (full after ``max_age``), its size (the share of the
    resource of which it takes the most), the fair share of its user, 2^(-usage / share), where
    usage is the user's part of all that was used, halved every ``half_life``, and all users that
    have submitted have equal shares; and what ``partitions`` states of its partition. Slurm's
    quality of service is not in the data.

    Parameters
    ----------
    age, size, fair, partition : float
        Weights of the factors.
    partitions : mapping, optional
        The factor of each partition, 0 where there is none.
    max_age, half_life : float
        Seconds.
    exact : bool
        Plan with exact run times, else with requested times.
    """

    name = "multifactor"

    def __init__(
        self,
        *,
        age: float = 1.0,
        size: float = 1.0,
        fair: float = 1.0,
        partition: float = 0.0,
        partitions: Mapping[str, float] | None = None,
        max_age: float = 7 * DAY,
        half_life: float = 14 * DAY,
        exact: bool = False,
    ) -> None:
        super().__init__(exact=exact)
        self.weights = (age, size, fair, partition)
        self.partitions = dict(partitions or {})
        self.max_age, self.half_life = max_age, half_life

    def start(self, public: Platform, prior: Prior, streams: Streams) -> None:
        """Begin with no usage."""
        super().start(public, prior, streams)
        self.usage: dict[str, float] = {}
        self.began: dict[int, int] = {}
        self.share: dict[int, float] = {}  # of the machines, by job
        self.when = 0

    def arrived(self, i: int, job: Submission, now: int) -> None:
        """Take down a job and its user."""
        super().arrived(i, job, now)
        self.usage.setdefault(job.user, 0.0)
        taken = zip(job.need, self.public.total, strict=True)
        self.share[i] = max((job.tasks * d / c for d, c in taken if c), default=0.0)

    def started(self, i: int, now: int) -> None:
        """Take down when a job starts."""
        super().started(i, now)
        self.began[i] = now

    def ended(self, i: int, now: int) -> bool:
        """Add the use of a job to that of its user."""
        faded = 2.0 ** (-(now - self.when) / self.half_life)
        self.usage = {user: used * faded for user, used in self.usage.items()}
        self.when = now
        self.usage[self.jobs[i].user] += self.share[i] * (now - self.began.pop(i))
        return super().ended(i, now)

    def priority(self, now: int, waiting: Ints) -> Floats:
        """Return numbers by which jobs are ordered: the greatest priority first."""
        age, size, fair, partition = self.weights
        whole, users = sum(self.usage.values()), len(self.usage)
        jobs = [self.jobs[i] for i in waiting.tolist()]
        used = np.array([self.usage[job.user] for job in jobs])
        waited = now - self.table["arrival"][waiting]
        return -(
            age * np.minimum(1.0, waited / self.max_age)
            + size * np.array([self.share[i] for i in waiting.tolist()])
            + fair * 2.0 ** -(used / whole * users if whole else used)
            + partition * np.array([self.partitions.get(job.partition, 0.0) for job in jobs])
        )


def _ordered(rank: str, *, exact: bool = False) -> Callable[[], Policy]:
    return lambda: Ordered(rank, exact=exact)


POLICIES: Mapping[str, Callable[..., Policy]] = {
    "fcfs": Queue,
    "easy": Easy,
    "conservative": Conservative,
    **{rank: _ordered(rank) for rank in RANKS},
    "multifactor": Multifactor,
    "easy-exact": lambda: Easy(exact=True),
    "conservative-exact": lambda: Conservative(exact=True),
    "sjf-exact": lambda: Ordered("sjf", exact=True),
}

_TANG, _FITTED = "Tang et al. 2009", "fitted to simulations, Carastan-Santos and de Camargo 2017"
_FIRST = "with EASY backfilling, smallest"
_SINCE = "log10(1 + seconds since the first submission)"
RULES: Mapping[str, str] = {
    "fcfs": "jobs start in the order of submission",
    "easy": "EASY backfilling: a job may overtake if the first of the queue starts no later",
    "conservative": "conservative backfilling: every job has a reservation",
    "sjf": f"{_FIRST} requested time first",
    "lxf": f"{_FIRST} -(wait + requested time) / requested time first",
    "wfp3": f"{_FIRST} -(wait / requested time)^3 x size first ({_TANG})",
    "unicep": f"{_FIRST} -wait / (requested time x log2(size + 1)) first ({_TANG})",
    "f1": f"{_FIRST} log10(requested time) x size + 870 {_SINCE} first ({_FITTED})",
    "f2": f"{_FIRST} sqrt(requested time) x size + 25600 {_SINCE} first ({_FITTED})",
    "f3": f"{_FIRST} requested time x size + 6860000 {_SINCE} first ({_FITTED})",
    "f4": f"{_FIRST} requested time x sqrt(size) + 530000 {_SINCE} first ({_FITTED})",
    "multifactor": "with EASY backfilling, largest age + size + fair share first, each in 0..1 and "
    "of the same weight (Slurm's multifactor priority; quality of service is not used)",
    "easy-exact": "EASY backfilling that knows run times",
    "conservative-exact": "conservative backfilling that knows run times",
    "sjf-exact": f"{_FIRST} run time first",
}
"""What each policy does, in a phrase."""
SINCE_FIRST = ("f1", "f2", "f3", "f4")  # policies whose numbers depend on where the log begins
