"""Names that no row of a table can have."""

NO_NAMES = (
    "",
    " fifo",
    "x" * 101,
    "LP relaxation",
    "lp  Relaxation *",
    "optimum",
    "*",
    "\u200bfifo",
    "\uff46ifo",
    "\u061cabc",
    "a\u2028b",
)
