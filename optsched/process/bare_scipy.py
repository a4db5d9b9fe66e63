"""Import scipy.sparse alone.

Where Pyomo is imported, a hook of its own follows the first import of scipy by that of
scipy.stats, which takes half a second. Pyomo imports what it needs when it uses scipy.
"""

from __future__ import annotations

import sys

hooks = [finder for finder in sys.meta_path if type(finder).__module__.startswith("pyomo.")]
for hook in hooks:
    sys.meta_path.remove(hook)
try:
    import scipy.sparse  # noqa: F401
finally:
    sys.meta_path[:0] = hooks
