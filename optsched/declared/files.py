"""Strict readers of MPS and LP files.

They read the part of both formats whose meaning is beyond doubt, and refuse everything else with
its line. HiGHS reads the same file; `difference` finds a model that the two read differently.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from optsched.base import InputError
from optsched.declared.model import LARGEST, SMALLEST

INFINITE = 1e20  # from here on, a bound or limit is none, as for HiGHS
DROPPED, EXCESSIVE = 1e-9, 1e15  # coefficients up to and from which HiGHS does not take
DIGITS = r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?"
NUMBER = re.compile(rf"[+-]?(?:{DIGITS}|inf|infinity)", re.IGNORECASE)
SECTIONS = ("NAME", "OBJSENSE", "ROWS", "COLUMNS", "RHS", "RANGES", "BOUNDS", "ENDATA")
SENSES = ("MAX", "MIN", "MAXIMIZE", "MINIMIZE")
INF = math.inf
VALUED = {"UP": (0, 1), "LO": (1, 0), "FX": (1, 1), "LI": (1, 0), "UI": (0, 1)}  # which bounds
VALUELESS = {"FR": (-INF, INF), "MI": (-INF, None), "PL": (None, INF), "BV": (0.0, 1.0)}
HEADS = re.compile(
    r"(?P<max>max(?:imi[sz]e|imum)?)|(?P<min>min(?:imi[sz]e|imum)?)"
    r"|(?P<rows>subject[ \t]+to|such[ \t]+that|s\.t\.|st\.?)|(?P<bounds>bounds?)"
    r"|(?P<binary>bin(?:ary|aries)?)|(?P<general>gen(?:erals?)?|int(?:egers?)?)|(?P<end>end)"
    r"|(?P<refused>semi\S*|sos[12]?)",
    re.IGNORECASE,
)
LIMITLESS = ("free", "inf", "infinity")
LETTER = r"[\w.,!#$%&'@`{}~|\"?]"
TOKEN = re.compile(
    rf" *(?:(?P<number>{DIGITS})|(?P<sign>[+-])|(?P<order><=|>=|=<|=>|[<>=])|(?P<colon>:)"
    rf"|(?P<name>[^\W\d](?:{LETTER}|\((?:{LETTER}|\({LETTER}*\))*\)|\[{LETTER}*\])*))",
    re.IGNORECASE,
)


class Written:
    """A linear program as a file states it."""

    def __init__(self) -> None:
        self.maximize, self.offset = False, 0.0
        self.cost: dict[str, float] = {}
        self.bounds: dict[str, list[float | None]] = {}  # None: not stated
        self.upper: dict[str, float] = {}  # where no bound is stated, if not infinite
        self.integer: set[str] = set()
        self.rows: list[tuple[str | None, float, float, dict[str, float]]] = []

    def column(self, name: str) -> tuple[float, float, float, bool]:
        """Return cost, bounds, and whether it is integer."""
        low, high = self.bounds.get(name, (None, self.upper.get(name)))
        return (
            self.cost.get(name, 0.0),
            0.0 if low is None else low,
            INF if high is None else high,
            name in self.integer,
        )

    def bound(self, number: int, name: str, low: float | None, high: float | None) -> None:
        """State bounds of a variable that has none yet."""
        if low == INF or high == -INF:
            limit = "a lower bound of inf" if low == INF else "an upper bound of -inf"
            raise RefusedError(number, f"variable {name} has {limit}, expected a number")
        stated = self.bounds.setdefault(name, [None, None])
        for k, new in enumerate((low, high)):
            if new is not None and stated[k] is not None:
                raise RefusedError(
                    number, f"variable {name} has {'an upper' if k else 'a lower'} bound"
                )
            stated[k] = stated[k] if new is None else new

    def difference(self, program: Any) -> str | None:
        """Return where a `NamedProgram` is another one, or None."""
        objective = ("max" if self.maximize else "min", self.offset)
        rows = [(name, low, high, _nonzero(entries)) for name, low, high, entries in self.rows]
        names = self.cost.keys() | {name for row in rows for name in row[3]} | self.bounds.keys()
        written: list[tuple[str, Any]] = [("objective", objective)]
        written += [(f"variable {name}", self.column(name)) for name in names]
        read: dict[str, Any] = {"objective": ("max" if program.maximize else "min", program.offset)}
        read |= {f"variable {name}": tuple(rest) for name, *rest in program.columns}
        for (name, *limits), (known, *rest, entries) in zip(rows, program.rows, strict=False):
            place = f"constraint {known}"
            written.append((place if name in (None, known) else f"constraint {name}", (*limits,)))
            read[place] = (*rest, _nonzero({program.columns[j][0]: a for j, a in entries}))
        for place, value in written:
            if read.pop(place, None) != value:
                return place
        return next(iter(read), None if len(rows) == len(program.rows) else "number of constraints")


class RefusedError(Exception):
    """A line that is refused, by its number, and why."""


def parse(text: str, ending: str) -> Written:
    """Return the program that a file states; ``ending`` is ".mps" or ".lp".

    Raises
    ------
    InputError
        The message begins with the line, or names a constraint that nothing satisfies.
    """
    try:
        if ending == ".mps":
            program = _Mps(_lines(text, "*")).program
        else:
            program = _Lp(_lines(text, "\\")).program
    except RefusedError as err:
        raise InputError("line {}: {}".format(*err.args)) from None
    for number, (name, low, high, _) in enumerate(program.rows, start=1):
        if low == INF or high == -INF:
            raise InputError(
                f"constraint {name or number} has the limits {low:g} and {high:g}, expected a "
                "finite one"
            )
    return program


def _nonzero(entries: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in entries.items() if value}


def _lines(text: str, comment: str) -> Iterator[tuple[int, str]]:
    """Yield number and content of the lines that are not empty, without comments."""
    for number, line in enumerate(text.split("\n"), start=1):
        line = line.removesuffix("\r")
        if "\r" in line:
            raise RefusedError(number, "holds a carriage return, expected one at its end at most")
        if comment != "*" or line.startswith(comment):
            line = line.partition(comment)[0]
        if not (plain := line.replace("\t", " ").rstrip()).isprintable():
            odd = next(c for c in plain if not c.isprintable())
            raise RefusedError(number, f"holds {odd!r}, expected other characters")
        if plain:
            yield number, plain


def _value(text: str | float) -> float:
    value = float(text)
    return math.copysign(INF, value) if abs(value) >= INFINITE else value


def _refuse_size(number: int, value: float, variable: str, row: str | None) -> None:
    """Refuse a coefficient that HiGHS or the model does not take; the row None: a cost."""
    what, sizes = f"cost of {variable}", "from 1e-15 to 1e15"
    taken = SMALLEST <= abs(value) <= LARGEST
    if row is not None:
        what, sizes = f"coefficient of {variable} in {row}", "above 1e-9 and below 1e15"
        taken = DROPPED < abs(value) < EXCESSIVE
    if value and not taken:
        raise RefusedError(number, f"{what} is {value:g}, expected 0 or a size {sizes}")


class _Mps:
    """Reader of MPS files whose fields are separated by blanks."""

    def __init__(self, lines: Iterator[tuple[int, str]]) -> None:
        self.program, self.whole, latest = Written(), False, -1
        self.kinds: dict[str, str] = {}
        self.entries: dict[str, dict[str, float]] = {}
        self.limits: dict[str, dict[str, float]] = {"RHS": {}, "RANGES": {}}
        self.sets: dict[str, str] = {}
        section = ""
        for self.number, line in lines:
            words = line.split()
            if line[0] == " ":
                if section in ("", "NAME", "ENDATA"):
                    self.refuse(f"{line.strip()[:60]!r}, expected a section")
                getattr(self, f"_{section.lower()}")(words)
                continue
            section = words[0].upper()
            if section not in SECTIONS:
                self.refuse(f"section {words[0]}, expected one of: {', '.join(SECTIONS)}")
            place = SECTIONS.index(section)
            if section != "OBJSENSE" and place <= latest:
                after = f"section {section} after {SECTIONS[latest]}"
                self.refuse(f"{after}, expected in this order: {', '.join(SECTIONS)}")
            latest = max(latest, place)
            if section == "OBJSENSE" and words[1:]:
                self._objsense(words[1:], SENSES[:2])
        self._finish()

    def refuse(self, why: str) -> None:
        raise RefusedError(self.number, why)

    def _objsense(self, words: list[str], known: tuple[str, ...] = SENSES) -> None:
        word = " ".join(words)
        if word.upper() not in known:
            self.refuse(f"OBJSENSE {word}, expected one of: {', '.join(known)}")
        if "OBJSENSE" in self.sets:
            self.refuse(f"OBJSENSE {word} after {self.sets['OBJSENSE']}, expected one sense")
        self.sets["OBJSENSE"] = word
        self.program.maximize = word.upper().startswith("MAX")

    def _rows(self, words: list[str]) -> None:
        if len(words) != 2 or words[0].upper() not in "NLGE" or words[1] in self.kinds:
            self.refuse(f"{' '.join(words)[:60]!r}, expected N, L, G or E and a new name")
        self.kinds[words[1]], self.entries[words[1]] = words[0].upper(), {}

    def _columns(self, words: list[str]) -> None:
        column, *rest = words
        if rest[:1] == ["'MARKER'"]:
            if rest[1:] not in (["'INTORG'"], ["'INTEND'"]):
                self.refuse(f"{' '.join(words)[:60]!r}, expected 'INTORG' or 'INTEND'")
            self.whole = rest[1] == "'INTORG'"
            return
        self.program.cost.setdefault(column, 0.0)
        if self.whole:
            self.program.integer.add(column)
            self.program.upper[column] = 1.0  # without a bound
        for row, value in self._pairs(rest, "a column, then"):
            if column in self.entries[row]:
                self.refuse(f"column {column} has two entries in row {row}")
            if self.kinds[row] != "N" or row == self.objective:
                _refuse_size(self.number, value, column, row if self.kinds[row] != "N" else None)
            self.entries[row][column] = value

    def _rhs(self, words: list[str], section: str = "RHS") -> None:
        named = len(words) % 2
        self._only_set(section, words[0] if named else "")
        for row, value in self._pairs(words[named:], "perhaps a name, then"):
            if self.kinds[row] == "N" and (row != self.objective or section == "RANGES"):
                self.refuse(f"row {row} is free and no objective, expected a constraint")
            if row in self.limits[section]:
                self.refuse(f"row {row} is in {section} twice")
            self.limits[section][row] = _value(value)

    def _ranges(self, words: list[str]) -> None:
        self._rhs(words, "RANGES")

    def _bounds(self, words: list[str]) -> None:
        kind, rest = words[0].upper(), words[1:]
        value = (
            _value(rest.pop()) if kind in VALUED and NUMBER.fullmatch("".join(rest[-1:])) else None
        )
        if (value is None) != (kind in VALUELESS) or len(rest) not in (1, 2):
            self.refuse(f"{' '.join(words)[:60]!r}, expected a type, a column and its bound")
        self._only_set("BOUNDS", rest[0] if len(rest) == 2 else "")
        if rest[-1] not in self.program.cost or (len(rest) == 2 and rest[0] in self.program.cost):
            self.refuse(f"{' '.join(rest)!r}, expected perhaps a name, then one of COLUMNS")
        low, high = VALUELESS.get(kind, (None, None))
        if value is not None:
            low, high = (value if there else None for there in VALUED[kind])
        self.program.bound(self.number, rest[-1], low, high)
        if kind in ("LI", "UI", "BV"):
            self.program.integer.add(rest[-1])

    def _only_set(self, section: str, name: str) -> None:
        if self.sets.setdefault(section, name) != name:
            self.refuse(f"{name or 'no name'} is a second set of {section}, expected one")

    @property
    def objective(self) -> str | None:
        """The first free row."""
        return next((row for row, kind in self.kinds.items() if kind == "N"), None)

    def _pairs(self, rest: list[str], what: str) -> Iterator[tuple[str, float]]:
        if len(rest) not in (2, 4) or not all(map(NUMBER.fullmatch, rest[1::2])):
            known = "one or two rows with a number each"
            self.refuse(f"{' '.join(rest)[:60]!r}, expected {what} {known}")
        for row, value in zip(rest[::2], rest[1::2], strict=True):
            if row not in self.kinds:
                self.refuse(f"{row} is no row, expected one of ROWS")
            yield row, float(value)

    def _finish(self) -> None:
        program = self.program
        if (objective := self.objective) is not None:
            program.cost |= self.entries[objective]
            program.offset = -self.limits["RHS"].get(objective, 0.0)
        for row, kind in self.kinds.items():
            low = high = self.limits["RHS"].get(row, 0.0)
            span = self.limits["RANGES"].get(row, 0.0 if kind == "E" else INF)
            if kind == "L" or (kind == "E" and span < 0):
                low -= abs(span)
            elif kind != "N":
                high += abs(span)
            if kind != "N":
                program.rows.append((row, low, high, self.entries[row]))


class _Token(NamedTuple):
    line: int
    kind: str
    text: str


def _tokens(number: int, line: str) -> Iterator[_Token]:
    """Yield the words of a line; only the first one may begin a section."""
    at, head = 0, HEADS.match(line)
    if head is not None and line[head.end() :][:1] in ("", " "):
        yield _Token(number, head.lastgroup or "", head[0])
        at = head.end()
    while at < len(line):
        found = TOKEN.match(line, at)
        if found is None:
            what = "expected a name, a number, a sign or a comparison"
            raise RefusedError(number, f"{line[at:].strip()[:60]!r}, {what}")
        at, kind = found.end(), found.lastgroup or ""
        text = found[kind]
        if kind == "name" and HEADS.fullmatch(text):
            raise RefusedError(number, f"{text} is a word of the format, expected another name")
        yield _Token(number, "limit" if text.lower() in LIMITLESS else kind, text)


class _Lp:
    """Reader of LP files: every constraint and every bound begins on a line of its own."""

    def __init__(self, lines: Iterator[tuple[int, str]]) -> None:
        self.program, self.at, self.names = Written(), 0, set[str | None]()
        self.tokens = [token for number, line in lines for token in _tokens(number, line.strip())]
        last = self.tokens[-1].line if self.tokens else 1
        self.tokens += [_Token(last, "end of file", "")] * 2
        self.program.maximize = self.take("max", "min").kind == "max"
        self.title()
        self.program.cost, self.program.offset = self.terms(None)
        binary: dict[str, int] = {}
        parts = dict.fromkeys(("rows", "bounds", "binary", "general", "refused", "end"))
        while (part := self.take(*parts).kind) != "end":
            del parts[part]
            while self.next.kind in ("name", "number", "sign", "limit"):
                before, token = self.tokens[self.at - 1], self.next
                if part == "rows":
                    self.row()
                elif part == "bounds":
                    self.bound()
                elif part == "refused":
                    raise RefusedError(token.line, "semi-continuous and SOS are not read")
                else:
                    self.take("name")
                    self.program.integer.add(token.text)
                    if part == "binary":
                        binary[token.text] = token.line
                        self.program.upper[token.text] = 1.0
                if before.line == token.line and part in ("rows", "bounds") and before.kind != part:
                    raise RefusedError(
                        token.line, f"{token.text!r}, expected it on a line of its own"
                    )
        self.take("end of file")
        known = self.program.cost.keys() | {name for row in self.program.rows for name in row[3]}
        for name in [*self.program.bounds, *self.program.integer]:
            if name not in known:
                raise InputError(
                    f"{name} occurs neither in the objective nor in a constraint, expected a "
                    "variable of the model"
                )
        for name, line in binary.items():
            _, low, high, _ = self.program.column(name)
            if low < 0 or high > 1:
                complaint = f"variable {name} is binary and its bounds are {low:g} and {high:g}"
                raise RefusedError(line, f"{complaint}, expected bounds within 0 and 1")

    @property
    def next(self) -> _Token:
        """The token that is read next."""
        return self.tokens[self.at]

    def take(self, *kinds: str) -> _Token:
        """Read a token of one of some kinds."""
        token = self.next
        if token.kind not in kinds:
            raise RefusedError(token.line, f"{token.text!r}, expected {' or '.join(kinds)}")
        self.at += 1
        return token

    def sign(self) -> float:
        """Read a sign, if there is one."""
        return -1.0 if self.next.kind == "sign" and self.take("sign").text == "-" else 1.0

    def limit(self) -> float:
        """Read a number with its sign, or an infinite one."""
        sign, token = self.sign(), self.take("number", "limit")
        if token.text.lower() == "free":
            raise RefusedError(token.line, "'free', expected a number")
        return sign * _value(token.text)

    def title(self) -> str | None:
        """Read the name of a row, if there is one."""
        if self.tokens[self.at + 1].kind != "colon":
            return None
        name = self.take("name").text
        self.take("colon")
        return name

    def terms(self, row: str | None) -> tuple[dict[str, float], float]:
        """Read a linear expression, the objective or one of a row: coefficients and constant."""
        found, constant = dict[str, float](), 0.0
        while self.next.kind in ("sign", "number", "name"):
            value, line = self.sign(), self.next.line
            stated = self.next.kind == "number"
            if stated:
                value *= float(self.take("number").text)
            if stated and self.next.kind != "name":
                constant += value
                continue
            name = self.take("name").text
            if name in found:
                raise RefusedError(line, f"{name} appears more than once, expected one term")
            _refuse_size(line, value, name, row)
            found[name] = value
        return found, constant

    def row(self) -> None:
        """Read a constraint: a name perhaps, terms, and a number on the right."""
        name, line = self.title(), self.next.line
        entries, constant = self.terms(name or f"constraint {len(self.program.rows) + 1}")
        if constant or not entries:
            raise RefusedError(line, "a constant on the left, expected terms with variables only")
        if name in self.names:
            raise RefusedError(line, f"constraint {name}: the name is used twice")
        self.names |= {name} - {None}
        order, limit = self.take("order").text, self.limit()
        low = -INF if "<" in order else limit
        self.program.rows.append((name, low, INF if ">" in order else limit, entries))

    def bound(self) -> None:
        """Read a bound: one or two numbers around a variable, or "free"."""
        low, high, line = None, None, self.next.line
        if self.next.kind != "name":
            low = self.limit()
            self.take_order("<")
        name = self.take("name").text
        if self.next.text.lower() == "free" and low is None:
            self.take("limit")
            low, high = -INF, INF
        elif low is None or self.next.kind == "order":
            order = self.take("order").text if low is None else self.take_order("<")
            limit = self.limit()
            low = low if "<" in order else limit
            high = None if ">" in order else limit
        self.program.bound(line, name, low, high)

    def take_order(self, sign: str) -> str:
        """Read a comparison in one direction."""
        token = self.take("order")
        if sign not in token.text:
            raise RefusedError(token.line, f"{token.text!r}, expected {sign}=")
        return token.text
