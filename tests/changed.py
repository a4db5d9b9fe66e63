"""Print the tests to run for what changed since a commit: ``python tests/changed.py [BASE]``.

A changed test selects itself, a changed helper the tests that import it, and a changed module the
tests that import it or its package. A change in a family, except in its policies, selects all of
the family's tests. The rules about the whole code always run. This is a fast selection, not a safe
one: ``make test`` and ``.ci/run`` run the rest.
"""

import ast
import subprocess
import sys
from pathlib import Path, PurePosixPath

TREE = Path(__file__).parents[1]
ALWAYS = {"tests/test_imports.py", "tests/test_layout.py", "tests/test_kernel_arrays.py"}


def changed(base: str) -> list[str]:
    """Return the files that differ from ``base``, and the new ones."""
    calls = (["diff", "--name-only", base], ["ls-files", "--others", "--exclude-standard"])
    done = (
        subprocess.run(["git", *c], cwd=TREE, capture_output=True, text=True, check=True)
        for c in calls
    )
    return [line for run in done for line in run.stdout.splitlines()]


def imported(test: Path) -> set[str]:
    """Return the modules that a test names in its imports."""
    found = set()
    for node in ast.walk(ast.parse(test.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {str(node.module)} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def concerned(path: PurePosixPath, tests: dict[str, set[str]]) -> set[str]:
    """Return the tests that a change in ``path`` selects."""
    if path.suffix != ".py" or path.parts[0] not in ("tests", "optsched", "benchmarks"):
        return set()
    if str(path) in tests:
        return {str(path)}
    if path.parts[0] != "optsched":
        names = {path.stem, f"{path.parent.name}.{path.stem}"}  # a helper, or part of a package
        return {test for test, imports in tests.items() if names & imports}
    module = ".".join(path.with_suffix("").parts).removesuffix(".__init__")
    package = module.rpartition(".")[0]
    found = {
        test for test, names in tests.items() if module in names or package in names - {"optsched"}
    }
    if path.parts[1] in ("families", "models"):
        family = path.parts[2].removesuffix(".py")
        if path.parts[3:4] != ("policies",):
            found |= {test for test in tests if test.startswith(f"tests/families/{family}/")}
        found |= {
            test
            for test in tests
            if test.startswith(f"tests/families/{family}/") and "polic" in test
        }
    return found


def main(base: str = "HEAD") -> None:
    """Print the selected test files, one a line."""
    files = (TREE / "tests").rglob("test_*.py")
    tests = {path.relative_to(TREE).as_posix(): imported(path) for path in files}
    chosen = ALWAYS.union(*(concerned(PurePosixPath(name), tests) for name in changed(base)))
    print(*sorted(chosen & tests.keys()), sep="\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
