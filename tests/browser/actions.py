"""What a person does on the page, and what she sees."""

from __future__ import annotations

from playwright.sync_api import Page

TEXT = "😀 The wheat harvest was good. Crude barrels, and a bank 𝒷 said rates fell."
"""Its first character and one in its middle take two places in JavaScript, and one in Python."""


KEY = "clé secrète"
"""The key of the server that asks for one."""

MOST_CHARACTERS = 2000
"""The longest text that the other server takes."""


def suggest(page: Page, text: str = TEXT) -> None:
    """Type a text and ask for its labels."""
    page.fill("#text", text)
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#found:not([hidden])")


def names(page: Page, where: str = "#suggested") -> list[str]:
    return page.locator(f"{where} .chip .name span:first-child").all_inner_texts()


def chip(page: Page, label: str) -> str:
    """Say how a label's chip is found."""
    return f'.chip[data-label="{label}"]'


def lit(page: Page) -> dict[str, int]:
    """Return the lit words of the text with their levels."""
    found = page.locator("#words .word[data-level]")
    return {one.inner_text(): int(one.get_attribute("data-level") or 0) for one in found.all()}


def counting_requests(page: Page) -> list[str]:
    """Return a list that grows with each request from now on."""
    seen: list[str] = []
    page.on("request", lambda request: seen.append(request.url))
    return seen


def drop(page: Page, where: str, name: str, content: str, kind: str = "text/plain") -> None:
    """Drop a file on an element, with all the events that a browser sends."""
    page.evaluate(
        """([where, name, content, kind]) => {
          const data = new DataTransfer();
          data.items.add(new File([content], name, { type: kind }));
          const options = { dataTransfer: data, bubbles: true, cancelable: true };
          for (const event of ["dragenter", "dragover", "drop"]) {
            document.querySelector(where).dispatchEvent(new DragEvent(event, options));
          }
        }""",
        [where, name, content, kind],
    )
