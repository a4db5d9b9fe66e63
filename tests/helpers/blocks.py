"""The code on a page of the documentation: run as a reader would, compared with what is shown.

    python tests/helpers/blocks.py docs/PAGE.md         # run it, state what differs
    python tests/helpers/blocks.py --write docs/PAGE.md # put in what was really printed
    python tests/helpers/blocks.py --warm ADDRESS docs/PAGE.md # commands are run by warm.py

Blocks of `python` and `sh` are run, in order, in one new folder. A `text` block right behind one is
what it prints. A `{code-block}` with a `:caption:` is a file of that name, which is written.
`<!-- not run: why -->` before a block leaves it out, `<!-- within 5 % -->` before a `text` block
lets its numbers be off by that much, where an optimum is open.

What is compared is what a terminal shows, stdout and stderr. Progress, times, the lengths of lines
and who found a schedule first do not count; `...` stands for anything.
"""

from __future__ import annotations

import doctest
import io
import os
import re
import subprocess
import sys
import tempfile
import traceback
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from warm import program

import optsched

FENCE = re.compile(
    r"(?P<said>(?:^<!--[^>]*-->\n\n?)*)^(?P<fence>`{3,})(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=fence)$",
    re.MULTILINE | re.DOTALL,
)
RUN = ("python", "sh")
TIME = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:e-?\d+)? ?(?:us|ms|s|min|h)\b")
NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:e[+-]?\d+)?")
PROGRESS = re.compile(r".* \(\d+ s(?:; \d+ s in all)?\)$|.*compil.*")
FIRST = re.compile(r"^ *the best schedule known is that of \S+\n", re.MULTILINE)  # or the search's
LINES = re.compile(r"[━─═╍┄-]{3,}")


@dataclass(frozen=True)
class Block:
    """A fence: the text before it, its language, its text, and where it stands on the page."""

    said: str
    language: str
    body: str
    file: str | None
    line: int
    begins: int
    start: int  # of its text
    end: int
    ends: int

    @property
    def runs(self) -> bool:
        """Whether it is typed by the reader, and so here."""
        return self.language in RUN and self.file is None and "not run:" not in self.said


def read(text: str) -> list[Block]:
    """Return the blocks of a page."""
    found = []
    for match in FENCE.finditer(text):
        info, body = match["info"].strip(), match["body"]
        start = match.start("body")
        caption = re.match(r":caption: *(\S+)\n\n?", body)
        if info.startswith("{code-block}") and caption:
            body, start = body[caption.end() :], start + caption.end()
        line = text.count("\n", 0, match.start("fence")) + 1
        language = info.removeprefix("{code-block}").strip()
        file, end = (caption[1] if caption else None), match.end("body")
        place = (line, match.start(), start, end, match.end())
        found.append(Block(match["said"], language, body, file, *place))
    return found


@dataclass(frozen=True)
class Said:
    """What a block printed, and why it failed, if it did."""

    text: str
    failed: str = ""

    @classmethod
    def of(cls, printed: str, failed: str) -> Said:
        """Leave progress out."""
        lines = [line for line in printed.splitlines() if not PROGRESS.fullmatch(line)]
        return cls("\n".join(lines), failed and f"{failed}\n{printed}")


def play(
    blocks: list[Block], folder: Path, home: Path = Path()
) -> Iterator[tuple[Block, Said | None]]:
    """Run the blocks of a page in ``folder``, in order; None for one that is not run.

    Files that the page includes are next to it, in ``home``.
    """
    names: dict[str, object] = {"__name__": "__main__"}
    sys.path.insert(0, str(folder))
    for block in blocks:
        if block.file is not None:
            (folder / block.file).parent.mkdir(parents=True, exist_ok=True)
            (folder / block.file).write_text(block.body, "utf-8")
        included = block.language.removeprefix("{literalinclude} ")
        if included != block.language:
            (folder / Path(included).name).write_bytes((home / included).read_bytes())
        if not block.runs:
            yield block, None
        elif block.language == "sh":
            done = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", block.body],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
                cwd=folder,
            )
            failed = f"exit status {done.returncode}" if done.returncode else ""
            yield block, Said.of(done.stdout, failed)
        else:
            out, failed = io.StringIO(), ""
            with redirect_stdout(out), redirect_stderr(out):
                try:
                    exec(compile(block.body, f"line {block.line}", "exec"), names)
                except Exception:  # a page's code may raise anything: it is reported, not swallowed
                    failed = traceback.format_exc()
            yield block, Said.of(out.getvalue(), failed)


def alike(shown: str, printed: str, within: float = 0.0) -> bool:
    """Return whether a page shows what was printed.

    >>> alike("done in 3.1 s, ratio ...", "done in  0.2 s, ratio 5")
    True
    >>> alike("204 found", "205 found"), alike("204 found", "205 found", 0.01)
    (False, True)
    """
    want, got = (
        LINES.sub("---", TIME.sub("TIME", FIRST.sub("", text))).strip() for text in (shown, printed)
    )
    if within:
        have = iter(NUMBER.findall(got))

        def near(match: re.Match[str]) -> str:
            other = next(have, "")
            same = other and abs(float(match[0]) - float(other)) <= within * abs(float(match[0]))
            return other if same else match[0]

        want = NUMBER.sub(near, want)
    rules = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return doctest.OutputChecker().check_output(want + "\n", got + "\n", rules)


def check(page: Path, *, write: bool = False, warm: str = "") -> list[str]:
    """Run a page; return what differs. ``write``: put what was printed into the page."""
    text = page.read_text("utf-8")
    wrong: list[str] = []
    changes: list[tuple[Block, str]] = []
    home = Path.cwd()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made) / "work"
        _prepare(Path(made), folder, warm)
        before: tuple[Block, Said | None] | None = None
        for block, said in play(read(text), folder, page.resolve().parent):
            if said is not None and said.failed:
                wrong.append(f"{page.name}, line {block.line}: fails\n{said.failed}")
            last = before[1] if before and not text[before[0].ends : block.begins].strip() else None
            if block.language == "text" and last is not None:
                off = re.search(r"within (\d+) %", block.said)
                if not alike(block.body, last.text, int(off[1]) / 100 if off else 0.0):
                    where = f"{page.name}, line {block.line}"
                    wrong.append(f"{where}: shows\n{block.body}\nbut printed is\n{last.text}")
                    changes.append((block, last.text))
            before = (block, said)
        os.chdir(home)
    if write:
        for block, printed in reversed(changes):
            lines = "".join(f"{line.rstrip()}\n" for line in printed.strip("\n").splitlines())
            text = text[: block.start] + lines + text[block.end :]
        page.write_text(text, "utf-8")
    return wrong


def _prepare(home: Path, folder: Path, warm: str) -> None:
    """Go into the folder of a page, where `optsched` and `python` are what is tested here."""
    folder.mkdir()
    tools = home / "bin"
    tools.mkdir()
    for name, words in {"optsched": "-m optsched", "python": "", "python3": ""}.items():
        (tools / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
        (tools / name).chmod(0o755)
    if warm:
        (tools / "optsched").write_text(program(warm))
    os.environ |= {
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(Path(optsched.__file__).parents[1]),
        "OPTSCHED_CACHE": str(home / "cache"),
        "COLUMNS": "88",
        "MPLBACKEND": "agg",
        "PYTHONUNBUFFERED": "1",
    }
    os.chdir(folder)


def main(words: list[str]) -> int:
    """Run pages."""
    options = ArgumentParser()
    options.add_argument("--write", action="store_true")
    options.add_argument("--warm", default="", metavar="ADDRESS")
    options.add_argument("pages", nargs="+", type=Path)
    given = options.parse_args(words)
    wrong = []
    for page in given.pages:
        wrong += check(page.resolve(), write=given.write, warm=given.warm)
    print("\n\n".join(wrong))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
