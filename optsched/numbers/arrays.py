"""Array types by their content; kernels are compiled for these types."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Small = NDArray[np.int16]  # small counts, where memory matters
Medium = NDArray[np.int32]
Units = NDArray[np.signedinteger[Any]]  # int32 where the numbers allow it
Unsigned = NDArray[np.uint32]  # indices of which compiled code need not check the sign
