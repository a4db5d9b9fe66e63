"""The linear algebra below numpy and scipy, in one thread.

Long sums are split among its threads, and what they add up to depends on how many there are: on the
cores of the machine, and on settings of the process. And its threads wait for each other in a loop:
where another program is at work on these cores, factors of a few hundred rows take a hundred times
as long.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

_lock = threading.Lock()
_depth = 0
_limit: Any = None  # what brings the threads back


@contextmanager
def one_thread() -> Iterator[None]:
    """Let linear algebra use one thread; when the last caller is done, all is as before."""
    global _depth, _limit
    with _lock:
        if _depth == 0:
            _limit = controller().limit(limits=1, user_api="blas")
        _depth += 1
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if _depth == 0:
                _limit.restore_original_limits()


@cache
def controller() -> Any:
    """Return what knows the libraries."""
    import scipy.linalg  # noqa: F401  # it brings one of its own, which is found once it is loaded
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
