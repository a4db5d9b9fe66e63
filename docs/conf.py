"""How the pages become a site: `sphinx-build -W -n docs site`."""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # for extensions/

project = "optsched"
author = "The optsched maintainers"
copyright = author  # noqa: A001  (the name that Sphinx expects)
release = metadata.version("optsched")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "extensions.accessible",
    "extensions.checker",
    "extensions.commands",
    "extensions.equations",
    "extensions.formats",
]
exclude_patterns = ["examples"]
templates_path = ["_templates"]
highlight_language = "none"  # of blocks that do not name one
default_role = "literal"  # a single backtick in docstrings
smartquotes = False  # options begin with two hyphens
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3  # other pages link to headings, down to the errata's labels

autodoc_member_order = "bysource"
autodoc_default_options = {"exclude-members": "model_config"}  # of pydantic, not of optsched
autodoc_typehints_format = "short"
maximum_signature_line_length = 80
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_preprocess_types = True
napoleon_type_aliases = {
    "DataFrame": ":class:`~pandas.DataFrame`",
    "Executor": ":class:`~concurrent.futures.Executor`",
    "Frozen": ":class:`~optsched.problem.Frozen`",
    "Instance": ":class:`~optsched.problem.Instance`",
    "Level": ":class:`~optsched.problem.Level`",
    "Path": ":class:`~pathlib.Path`",
    "Plan": ":class:`~optsched.experiments.plan.Plan`",
    "Policy": ":class:`~optsched.problem.Policy`",
    "Progress": ":class:`~optsched.engine.progress.Progress`",
    "callable": ":class:`~collections.abc.Callable`",
    "mapping": ":class:`~collections.abc.Mapping`",
    "path": ":class:`~pathlib.Path`",
    "sequence": ":class:`~collections.abc.Sequence`",
}

# Targets that these pages do not have: the standard library and other packages (no build uses the
# network), and internals of optsched.
nitpick_ignore_regex = [
    ("py:.*", r"(collections|concurrent|fractions|functools|os|pathlib|types|typing)\..*"),
    ("py:.*", r"(numpy|pandas|pydantic|pyomo|np|pd)\..*"),
    ("py:class", r"DataFrame|Path"),
    ("py:.*", r"optsched\.(declared\..*|online)"),
    ("py:class", r"Constraint|Declared|Menu|Played|Problem|Variable|(Pyomo|linopy) model"),
]

# `sphinx-build -b linkcheck`. Some servers refuse whoever is no browser: that is no broken link.
linkcheck_timeout = 20
linkcheck_report_timeouts_as_broken = False
linkcheck_allow_unauthorized = True
linkcheck_anchors = False  # of pages that scripts make

html_math_renderer = "mathml"  # of extensions.equations: no script, nothing from a network
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_js_files = ["pages.js"]
html_theme = "furo"
html_title = "optsched"
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
