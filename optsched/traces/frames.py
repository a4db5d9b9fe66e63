"""DataFrames as lists of jobs and machines: they are read as the CSV files that pandas writes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from optsched.problem import InputError
from optsched.process import messages

NAME = "DataFrame"


@contextmanager
def as_file(source: Path | str | pd.DataFrame) -> Iterator[Path]:
    """Yield the file of a list; of a DataFrame, a temporary one. Messages then name no path."""
    if not isinstance(source, pd.DataFrame):
        yield Path(source)
        return
    spans = source.select_dtypes("timedelta")
    plain = source.assign(**{str(n): x.dt.total_seconds() for n, x in spans.items()})
    with TemporaryDirectory() as folder:
        path = Path(folder) / NAME
        plain.to_csv(path, index=False)
        try:
            with messages.naming(str(path), NAME):
                yield path
        except InputError as err:
            raise InputError(str(err).replace(str(path), NAME)) from None
