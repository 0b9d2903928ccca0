"""Sphinx: the manual of kernelweave."""

import re
import sys
from pathlib import Path

from kernelweave import __version__

sys.path.insert(0, str(Path(__file__).parent))

project = "kernelweave"
author = copyright = "The kernelweave authors"
version = release = __version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "tables",
]
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
autosummary_generate = True
autodoc_default_options = {"exclude-members": "ufunc"}
autodoc_typehints = "none"
numpydoc_show_class_members = False
templates_path = ["_templates"]
exclude_patterns = ["_build", "_templates"]
html_theme = "alabaster"
html_theme_options = {"description": "Learning with kernels, with a certificate on every fit", "fixed_sidebar": True}

METADATA_REQUEST = re.compile(r"set_\w+_request")
"""Methods that scikit-learn adds to every estimator; their docstrings refer to pages of scikit-learn's own manual."""


def setup(app):
    app.connect("autodoc-skip-member", lambda app, what, name, *rest: bool(METADATA_REQUEST.fullmatch(name)) or None)
