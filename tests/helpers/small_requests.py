"""Jobs that request little."""

import numpy as np

from optsched.numbers.resources import close
from optsched.scheduling.oracle.schedule import Request


def request(work=2, most=2, demand=1.0, utility=(9, 6, 3)):
    job = Request(
        arrival=0,
        work=work,
        units=np.arange(most + 1),
        worker_demand=np.array([demand]),
        ps_demand=np.array([1.0]),
        ps_needed=np.ceil(np.arange(most + 1) / 2).astype(np.int64),
        utility=np.array(utility, float),
    )
    close(job.utility)
    return job
