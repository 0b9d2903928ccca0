"""Sphinx: the manual of kernelweave."""

import re
import sys
from pathlib import Path

import matplotlib

from kernelweave import __version__

matplotlib.use("Agg")

sys.path.insert(0, str(Path(__file__).parent))

project = "kernelweave"
author = copyright = "The kernelweave authors"
version = release = __version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
    "architecture",
    "benchmarks",
    "mathml",
    "outputs",
    "tables",
]
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
autosummary_generate = True
autodoc_default_options = {"exclude-members": "ufunc"}
autodoc_typehints = "none"
numpydoc_show_class_members = False
templates_path = ["_templates"]
exclude_patterns = ["_build", "_templates"]
html_theme = "pydata_sphinx_theme"
html_math_renderer = "mathml"
html_title = "kernelweave"
html_theme_options = {
    "navbar_align": "left",
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {name: [] for name in ("index", "quickstart", "first-jobs", "choosing", "cheatsheet", "benchmarks")}
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["site.css"]

sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,
    "show_signature": False,
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "capture_repr": (),
    "plot_gallery": "True",
}
suppress_warnings = ["config.cache"]

METADATA_REQUEST = re.compile(r"set_\w+_request")
"""Methods that scikit-learn adds to every estimator; their docstrings refer to pages of scikit-learn's own manual."""


TEXT = re.compile(r"^( *)(\w[\w, *]*) : (.+)$")
"""A parameter or attribute as docstrings here have it: the name, and behind the colon its meaning instead of a type."""


def meanings_below_names(app, what, name, thing, options, lines):
    """Put meanings where numpydoc expects them, so that a page shows them as text and not as a type in bold."""
    section, out = "", []
    for number, line in enumerate(lines):
        ruled = number + 1 < len(lines) and lines[number + 1].strip() and not lines[number + 1].strip(" -")
        section = line.strip() if ruled else section
        found = TEXT.match(line)
        if found and section in ("Parameters", "Attributes") and not found[1]:
            out += [found[2], f"    {found[3]}"]
        else:
            out.append(line)
    lines[:] = out


def from_elsewhere(app, what, name, thing, skip, options):
    """Leave out what scikit-learn adds; it has a manual of its own."""
    return (
        bool(METADATA_REQUEST.fullmatch(name)) or str(getattr(thing, "__module__", "")).startswith("sklearn.") or None
    )


def setup(app):
    app.connect("autodoc-process-docstring", meanings_below_names, priority=1)
    app.connect("autodoc-skip-member", from_elsewhere)
