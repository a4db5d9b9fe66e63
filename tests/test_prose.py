"""Docs, help, messages and docstrings are plain English: none of these words and phrases."""

import ast
import io
import re
import tokenize
from pathlib import Path

ROOT = Path(__file__).parents[1]
INSTEAD = {  # pattern: what to write
    r"beside\b": "next to, with, in addition to, compared with",
    r"(?:ask|asks|asked|asking)\b": "request, require, call, check (programs are not asked)",
    r"told\b(?! apart)": "receives, is given, is reported",
    r"tells?\b(?<!can tell)(?<!cannot tell)(?<!wide to tell)(?! apart|\))": "shows, reports",
    r"(?:say|says|said|saying)\b": "states, prints, reports, means",
    r"heard?\b": "receives",
    r"whoever\b|whom(?:ever)?\b": "name the subject",
    r"(?<![\w,] )(?<!or )(?<!and )who (?:is|has|does|works|makes|wants)\b": "name the subject",
    r"(?:machine|job|policy|policies|jobs|machines|application|applications) who\b": "that, which",
    r"so (?:many|long)\b(?! as\b)(?! that\b)": "this many, the given number of",
    r"in the place of\b": "instead of",
    r"known of\b": "known about; or name it: value, bound, interval",
    r"(?:its|own|his|solver.s|HiGHS.s|CP-SAT.s|theorem.s) word\b": "claim",
    r"(?:the|its|their|same|greatest|most) worth\b|worth of\b": "value",
    r"\w+, too(?=[.;:,)|]|$)": "also, as well",
    r"rooms\b": "folders, free capacity",
    r"(?:nobody|somebody|everybody|anybody)\b": "no job, another thread, all policies",
    r"dearer\b|the dearest\b": "more expensive, the greatest price",
    r"as good\b(?! as)|what is refused\b|worths\b": "equally valid, rejected, values",
    r"blink\b": "immediately",
    r"stands beside\b|stands by\b": "is next to",
    r"not so much as\b|ever so\b": "",
    r"worth\b": "value, utility, reduced cost",
    r"room\b": "capacity, slack, space; fits",
    r"stands\b(?! (?:for|in)\b)": "is, is listed, is printed",
    r"(?:the|a|its|strict) judges?\b": "feasibility check, checker",
    r"spoken\b": "interface",
    r"what comes out\b": "results",
    r"(?:is|are|was|were) sealed\b|sealed policy\b": "sandbox",
}
EXEMPT = {  # quotations
    "removing all the nodes (beside the masters",
    "without redraws nobody can earn",  # a stored result
    "first machine with room",  # the same
}


def texts(path: Path) -> list[tuple[int, str]]:
    """Return lines of prose: a page without code; comments and strings of a module."""
    source = path.read_text("utf-8")
    if path.suffix == ".md":
        blank = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
        source = blank.sub(lambda code: "\n" * code[0].count("\n"), source)
        return list(enumerate(source.split("\n"), 1))
    comments = [
        (token.start[0], token.string)
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    ]
    return comments + [
        (node.lineno + i, line)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value
        for i, line in enumerate(node.value.split("\n"))
        if not re.match(r"\s*(>>>|\.\.\.|\*{0,2}\w+(, \w+)* : )", line)
    ]


def test_prose_is_plain():
    pages = [*ROOT.glob("docs/**/*.md"), *ROOT.glob("*.md"), *ROOT.glob("optsched/**/*.py")]
    found = []
    any_of = "|".join(f"(?P<w{i}>{p})" for i, p in enumerate(INSTEAD))
    word = re.compile(rf"\b(?:{any_of})", re.I)
    for path in sorted(pages):
        for number, line in texts(path):
            line = re.sub(r"``.*?``|`[^`]*`|, for example", "`", line)
            for hit in word.finditer(line):
                if not any(quote in line for quote in EXEMPT):
                    plain = list(INSTEAD.values())[int(hit.lastgroup[1:])]
                    found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()} -> {plain}")
    assert not found, f"{len(found)} phrases to replace:\n" + "\n".join(found)


def test_modules_are_named_by_a_noun():
    heads = {path: ast.parse(path.read_text("utf-8")) for path in ROOT.glob("optsched/**/*.py")}
    found = [
        p
        for p, tree in heads.items()
        if re.match(r"(?:What|Where|Who)\b(?!-)", ast.get_docstring(tree) or "")
    ]
    assert not found, "their docstrings begin with a clause"
