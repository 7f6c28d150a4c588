"""Templates of the page and of LaTeX tables.

Whatever a template is given is escaped for where it goes, unless it is marked as markup:
:class:`markupsafe.Markup` on the page, :class:`Tex` in LaTeX.
"""

from __future__ import annotations

import re
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

_LOADER = PackageLoader("lagco.report", "templates")

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "–": "--",
    "−": "$-$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "Δ": r"$\Delta$",
    "α": r"$\alpha$",
    "²": r"$^2$",
    "µ": r"$\mu$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "…": r"\dots{}",
    "\u2009": r"\,",
    "\u00a0": "~",
}


class Tex(str):
    """LaTeX that is not escaped again."""

    __slots__ = ()


def latex_text(text: str) -> Tex:
    """Text as LaTeX shows it, whatever it holds."""
    cleaned = re.sub(r"[\x00-\x1f\x7f]+", " ", text)
    return Tex("".join(_SPECIAL.get(character, character) for character in cleaned))


def _for_latex(value: Any) -> Any:
    return value if isinstance(value, Tex) else latex_text(str(value))


#: templates of the page
HTML = Environment(
    loader=_LOADER,
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
#: templates of LaTeX, with delimiters that LaTeX does not use
LATEX = Environment(
    loader=_LOADER,
    autoescape=False,
    finalize=_for_latex,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
    block_start_string="<%",
    block_end_string="%>",
    variable_start_string="<<",
    variable_end_string=">>",
    comment_start_string="<#",
    comment_end_string="#>",
)
LATEX.filters["tex"] = Tex
