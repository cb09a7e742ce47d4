"""HTML in texts: where there is some, and texts without it."""

from __future__ import annotations

import re
from html.parser import HTMLParser

_TAGS = "a|abbr|b|blockquote|body|br|code|div|em|font|h[1-6]|head|hr|html|i|img|jats:[a-z]+|li|ol|p|pre"
_TAGS += "|script|span|strong|style|sub|sup|table|tbody|td|th|thead|tr|tt|u|ul"
# A lone `<B>` may be anything, a company's sign on the exchange for one; `</b>` and `<a href=` may not.
_MARKUP = re.compile(
    rf"</(?:{_TAGS})\s*>|<(?:br|hr)\s*/?>|<(?:{_TAGS})\s+[a-z:-]+\s*="
    "|&(?:[a-z]{2,8}[1-4]?|#[0-9]{2,6}|#x[0-9a-f]{2,6});",
    re.IGNORECASE,
)
_INLINE = frozenset(["a", "abbr", "b", "code", "em", "font", "i", "span", "strong", "sub", "sup", "tt", "u"])
_SILENT = frozenset(("script", "style"))


def has_markup(text: str) -> bool:
    """Return whether a text holds tags or entities of HTML; most have no angle bracket and are done soon."""
    return ("&" in text or "<" in text) and _MARKUP.search(text) is not None


class TextCollector(HTMLParser):
    """Keeps what stands between tags; tags that end a line or a cell leave a space."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self._silent = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002
        """Leave a space for what ends a line or a cell, and begin to pass over what is not shown."""
        self._pass(tag, 1)

    def handle_endtag(self, tag: str) -> None:
        """End what a tag began."""
        self._pass(tag, -1)

    def handle_data(self, data: str) -> None:
        """Keep what is shown."""
        if not self._silent:
            self.pieces.append(data)

    def _pass(self, tag: str, change: int) -> None:
        if tag in _SILENT:
            self._silent = max(0, self._silent + change)
        if tag not in _INLINE:
            self.pieces.append(" ")


def strip_markup(text: str) -> str:
    """Return a text without tags, with characters instead of entities; others stay as they are."""
    if not has_markup(text):
        return text
    collector = TextCollector()
    collector.feed(text)
    collector.close()
    return " ".join("".join(collector.pieces).split())
