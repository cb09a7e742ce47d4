"""Pages as one HTML file that needs nothing else: no network, no server, no other file.

A page is a Jinja2 template in the folder `templates` of its package. It extends `base.html.j2`, which shows
the value `title`, has the style of all pages, and leaves two blocks: `style` for rules of the page's own, and
`body`. Every value is escaped, unless the template marks it as safe: only plots and HTML of our own are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

_HERE = "seq2set.evaluation"


def render_page(
    template: str,
    *,
    package: str = _HERE,
    filters: Mapping[str, Callable[..., Any]] | None = None,
    **values: Any,
) -> str:
    """Fill a template of a package with values, which it may format with further filters."""
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader(_HERE)]),
        autoescape=True,
        trim_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,  # a misspelt name must not become an empty place
    )
    environment.filters.update(filters or {})
    return environment.get_template(template).render(values)
