"""The code on the pages runs, and prints what the pages show."""

import re
import subprocess
import sys
from pathlib import Path
from subprocess import PIPE

import blocks
import pytest
import warm
from patience import LONG

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))
RUNNING = [p for p in PAGES if any(b.runs for b in blocks.read((DOCS / p).read_text("utf-8")))]

PAGE = """
```{code-block} python
:caption: mine.py

def told():
    return "three in 2.5 s"
```

```python
from mine import told
print(told())
```

```text
three in 0.1 s
```

<!-- not run: it would fail -->

```sh
exit 3
```

```sh
echo two; echo one >&2
```

```text
two
one
```

```sh
echo 101
```

<!-- within 5 % -->

```text
100
```
"""


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """Return where `optsched` and pages run without waiting for imports."""
    where = str(tmp_path_factory.mktemp("warm") / "socket")
    words = [sys.executable, warm.__file__, where]
    with subprocess.Popen(words, stdin=PIPE, stdout=PIPE, text=True) as server:
        assert server.stdout.readline() == "ready\n"
        yield where
        server.stdin.close()


def played(page, address=None):
    """Run a page in a process of its own."""
    if address is None:
        words = [sys.executable, blocks.__file__, str(page)]
    else:
        asking = warm.program(address, blocks.__file__)
        words = [sys.executable, "-ISc", asking, "--warm", address, str(page)]
    return subprocess.run(words, capture_output=True, text=True, timeout=LONG, check=False)


@pytest.mark.exhaustive
@pytest.mark.parametrize("page", RUNNING)
def test_a_page_prints_what_it_shows(page, address):
    needed = re.match(r"<!-- needs (.*) -->", (DOCS / page).read_text("utf-8"))
    for name in needed[1].split(", ") if needed else ():
        pytest.importorskip(name, reason=f"{name} is an optional extra")
    done = played(DOCS / page, address)
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_differs_or_fails_is_told(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    assert played(page).returncode == 0
    for right, wrong in (
        ("three in 0.1 s", "four in 0.1 s"),
        ("two\none", "one"),
        ("\n100", "\n90"),
        ("not run", "run"),
        ("told())", "told(1))"),
    ):
        page.write_text(PAGE.replace(right, wrong))
        assert played(page).returncode != 0, wrong


@pytest.mark.parametrize("page", PAGES)
def test_commands_are_fenced_so_that_they_are_run(page):
    lines = (DOCS / page).read_text("utf-8").splitlines()
    assert not [line for line in lines if line.startswith(("    optsched ", "    pip "))]
    shown = [b.language for b in blocks.read("\n".join(lines)) if b.file is None]
    made = ("{eval-rst}", "{format}", "{literalinclude}", "{stated}")
    assert {*shown} <= {"python", "sh", "text", "toml", "{commands}", "{toctree}"} | {
        word for word in shown if word.startswith(made)
    }
