"""Modules that find or prove an optimum cite the technique they implement, and the works exist."""

import ast
import re
from pathlib import Path

import optsched

ROOT = Path(optsched.__file__).parent
DOCS = Path(__file__).parents[1] / "docs"
FOLDERS = (
    "engine",
    "solvers",
    "scheduling/oracle",
    "proofs",
    "families/*/optimum",
    "families/*/oracle",
    "families/*/certificate",
)
MODULES = (  # elsewhere, those that implement a technique
    *("declared/advice", "declared/certificate", "declared/conic", "declared/convex"),
    *("declared/optimum", "declared/policies", "minimax/certificate", "minimax/solve"),
)
NAME = r"(?:v[ao]n (?:den )?|de )?[A-Z][^\W\d_]+(?:-[A-Z][^\W\d_]+)?"
CITATION = re.compile(rf"({NAME}(?: et al\.| and {NAME})?)(?:, | \()(\d{{4}})(?=[);])")


def works() -> set[tuple[str, str]]:
    """Return how the works of the bibliography are cited: (names, year)."""
    text = (DOCS / "references.bib").read_text("utf-8")
    found = set()
    for authors, year in re.findall(r"author = \{(.*)\},\n(?:.*\n)*?  year = \{(\d+)\}", text):
        names = [author.split(", ")[0] for author in authors.split(" and ")]
        short = " and ".join(names) if len(names) < 3 else f"{names[0]} et al."
        found.add((short, year))
    assert len(found) == text.count("\n@")
    return found


def cited(text: str) -> set[tuple[str, str]]:
    return set(CITATION.findall(" ".join(text.split())))


def heads() -> dict[str, str]:
    """Return the docstrings of the modules in these folders, by path."""
    paths = {p for folder in FOLDERS for top in ROOT.glob(folder) for p in top.rglob("*.py")}
    paths |= {ROOT / f"{name}.py" for name in MODULES}
    return {
        path.relative_to(ROOT).with_suffix("").as_posix(): ast.get_docstring(
            ast.parse(path.read_text("utf-8"))
        )
        or ""
        for path in sorted(paths)
        if path.name != "__init__.py"
    }


def test_modules_cite_their_technique():
    known, found = works(), heads()
    silent = [name for name, head in found.items() if not cited(head) & known]
    assert not silent, "modules without a citation of docs/references.bib"


def test_citations_have_an_entry_and_entries_are_cited():
    pages = [DOCS / "algorithms.md", *(DOCS / "optimum").glob("*.md")]
    for folder in ("certificates", "gallery"):
        pages += (DOCS / folder).glob("*.md")
    pages += [DOCS / "rigid.md", DOCS / "advice.md"]
    texts = heads() | {str(page): page.read_text("utf-8") for page in pages}
    by_text = {name: cited(text) for name, text in texts.items()}
    missing = {name: found - works() for name, found in by_text.items() if found - works()}
    assert not missing, "citations without an entry in docs/references.bib"
    unused = works() - set().union(*by_text.values())
    assert not unused, "entries of docs/references.bib that nothing cites"


def test_pages_name_modules_and_constants_that_exist():
    pages = [DOCS / "algorithms.md", DOCS / "glossary.md", *(DOCS / "optimum").glob("*.md")]
    code = "\n".join(path.read_text("utf-8") for path in sorted(ROOT.rglob("*.py")))
    missing = []
    for page in pages:
        text = page.read_text("utf-8")
        for line in text.splitlines():
            used = re.sub(r" \(.*?\)", "", line.strip("| ").rpartition(" | ")[2]).split(", ")
            tops = [ROOT, ROOT.parent, ROOT / "families" / page.stem / "optimum"]
            tops += [ROOT / "families" / name for name in used if name.isalpha()]
            for name in re.findall(r"`([a-z_*]+(?:/[a-z_*]+)+)`", line):
                if not any([*top.glob(name), *top.glob(f"{name}.py")] for top in tops):
                    missing.append(f"{page.name}: {name}")
        for name in re.findall(r"`([A-Z_]{3,})`", text):
            if not re.search(rf"^{name}\b.* = ", code, re.MULTILINE):
                missing.append(f"{page.name}: {name}")
    assert not missing, "neither a module, a folder nor a constant"


def test_glossary_states_where_each_term_is_in_the_code():
    terms = [
        line for line in (DOCS / "glossary.md").read_text("utf-8").splitlines() if line[:1] == "-"
    ]
    places = [re.findall(r"`([^`]+)`", line.partition(" See ")[2]) for line in terms]
    assert all(places)
    found = {p: [*ROOT.glob(p), *ROOT.glob(f"{p}.py")] for each in places for p in each}
    assert not [place for place, paths in found.items() if not paths], "neither module nor folder"


def test_glossary_is_in_alphabetical_order():
    for section in (DOCS / "glossary.md").read_text("utf-8").split("\n## ")[1:]:
        terms = [term.casefold() for term in re.findall(r"^- \*\*(.*?)\*\*", section, re.MULTILINE)]
        assert terms == sorted(terms)


def test_references_list_the_bibliography():
    text = (DOCS / "references.md").read_text("utf-8")
    assert set(re.findall(r"^- \*\*(.*) \((\d+)\)\*\*", text, re.MULTILINE)) == works()
