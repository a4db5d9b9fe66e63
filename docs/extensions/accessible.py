"""What screen readers need to know, where long names may wrap, and pictures in full size."""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

TREE = "furo_navigation_tree"
CAPTION = 'class="caption" role="heading"'
PICTURE = re.compile(r'<img [^>]*src="([^"]*_images/[^"]*)"[^>]*>')  # themes shrink wide ones
LONG = re.compile(r'(?<=<span class="pre">)[^<]{12,}(?=</span>)')
SIGNATURE = re.compile(r'<dl>\n(<dd><em class="sig-param.*?)</dl>\n', re.DOTALL)


def _lines(match: re.Match[str]) -> str:
    """Return the parameters of a signature, one to a line, without a list that has no terms."""
    text = match[1].replace("<dd>", '<span class="parameter">').replace("</dd>", "</span>")
    return f'<span class="parameters">\n{text}</span>\n'


def mend(_app: Sphinx, _page: str, _template: str, context: dict[str, Any], _tree: Any) -> None:
    """Give captions a level, signatures no list, long names ends of lines, pictures a link."""
    if TREE in context:
        context[TREE] = context[TREE].replace(CAPTION, f'{CAPTION} aria-level="2"')
    if "body" in context:
        body = SIGNATURE.sub(_lines, context["body"])
        body = PICTURE.sub(r'<a class="reference internal" href="\1">\g<0></a>', body)
        context["body"] = LONG.sub(lambda name: re.sub(r"(?<=[/_,])(?=\w)", "<wbr>", name[0]), body)


def setup(app: Sphinx) -> dict[str, Any]:
    """Look at every page before it is written, after the theme has."""
    app.connect("html-page-context", mend, priority=900)
    return {"parallel_read_safe": True}
