"""Keyboards, screen readers, small screens, dark rooms, and days on which things go wrong."""

from __future__ import annotations

import httpx
import pytest
from actions import KEY, MOST_CHARACTERS, TEXT, chip, names, suggest
from playwright.sync_api import Page, expect

from browsers import MISSING, chromium

NAMELESS = """() => [...document.querySelectorAll("button, input, select, textarea, [role=region], dialog")]
  .filter((one) => {
    const named = one.getAttribute("aria-labelledby");
    const words = [one.ariaLabel, named && document.getElementById(named)?.textContent,
                   ...[...(one.labels ?? [])].map((label) => label.textContent), one.textContent];
    return !(one.type === "file" || one.hidden || words.some((each) => each?.trim()));
  }).map((one) => one.outerHTML)"""

CONTRASTS = """(selectors) => {
  const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const paint = (colours) => {
    pen.clearRect(0, 0, 1, 1);
    for (const colour of colours) { pen.fillStyle = colour; pen.fillRect(0, 0, 1, 1); }
    return [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3).map((value) => value / 255)
      .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
  };
  const light = ([r, g, b]) => 0.2126 * r + 0.7152 * g + 0.0722 * b;
  return selectors.map((selector) => {
    const element = document.querySelector(selector);
    const behind = [];
    const colour = (one) => getComputedStyle(one).backgroundColor;
    for (let one = element; one; one = one.parentElement) behind.unshift(colour(one));
    const [a, b] = [light(paint(behind)), light(paint([...behind, getComputedStyle(element).color]))];
    return [selector, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)];
  });
}"""


def test_without_a_browser_the_tests_say_how_to_get_one(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(pytest.fail.Exception, match=MISSING):
        chromium()


def test_tabs_move_by_arrows_and_the_address_remembers(page: Page, site) -> None:
    page.focus("#tab-suggest")
    for key, panel in [
        ("ArrowRight", "batch"),
        ("End", "model"),
        ("ArrowRight", "suggest"),
        ("ArrowLeft", "model"),
    ]:
        page.keyboard.press(key)
        expect(page.locator(f"#tab-{panel}")).to_be_focused()
        expect(page.locator(f"#tab-{panel}")).to_have_attribute("aria-selected", "true")
        assert page.locator("[role=tabpanel]:visible").evaluate_all("all => all.map(one => one.id)") == [
            f"panel-{panel}"
        ]
        assert page.locator("[role=tab][tabindex='0']").count() == 1
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    expect(page).to_have_url(f"{site.url}/#batch")
    page.reload()
    expect(page.locator("#panel-batch")).to_be_visible()


def test_a_text_is_labelled_by_keyboard_alone(page: Page) -> None:
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "text":
            break
    page.keyboard.insert_text(TEXT)
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#suggested .chip")
    outline = "getComputedStyle(document.activeElement.parentElement).outlineStyle"
    assert page.evaluate(outline) == "solid"  # the focus can be seen
    page.keyboard.press("a")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.ariaLabel") == f"Accept {names(page)[0]}"
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.get_attribute(chip(page, names(page)[0]), "data-verdict") == "no"


def test_help_lists_the_keys_and_closes(page: Page) -> None:
    page.click("#help-open")
    expect(page.get_by_role("dialog", name="Help and keyboard")).to_contain_text("ask for labels")
    page.keyboard.press("Escape")
    expect(page.locator("#help")).to_be_hidden()
    expect(page.locator("#help-open")).to_be_focused()


def test_everything_has_a_name_for_screen_readers(page: Page) -> None:
    suggest(page)
    assert page.evaluate(NAMELESS) == []
    name = page.locator(f"{chip(page, 'oil')} .name")
    assert "barrels" in (name.get_attribute("aria-description") or "")
    assert page.locator("[role=status], [role=alert]").count() >= 4


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_are_readable_in_light_and_dark(open_page, site, scheme: str) -> None:
    page = open_page(site.url, color_scheme=scheme, reduced_motion="reduce")
    suggest(page)
    page.click(f"{chip(page, 'oil')} .no")
    levels = [f'.legend .word[data-level="{level}"]' for level in range(1, 5)]
    wanted = [*levels, "#words", "#caption", ".chip .name", ".chip .score", "#which", "#tab-batch", "#send",
              "#copy", "#threshold-says", ".chip .no[aria-pressed=true]", "footer a"]  # fmt: skip
    for selector, contrast in page.evaluate(CONTRASTS, wanted):
        # WCAG 2.2: 4.5 for words, 3 for drawings
        assert contrast >= (3 if "aria-pressed" in selector else 4.5), selector


def test_the_switch_turns_the_lights_off_and_the_page_remembers(page: Page) -> None:
    behind = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(behind)
    switch = page.get_by_role("button", name="Dark colours")
    expect(switch).to_have_attribute("aria-pressed", "false")
    switch.click()
    expect(switch).to_have_attribute("aria-pressed", "true")
    dark = page.evaluate(behind)
    assert dark != light
    page.reload()
    page.wait_for_selector("#main[data-ready]")
    assert page.evaluate(behind) == dark
    switch.click()
    assert page.evaluate(behind) == light
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(behind) == light  # the person's choice comes before the system's


def test_a_small_screen_scrolls_down_only(open_page, site) -> None:
    page = open_page(site.url, viewport={"width": 360, "height": 740})
    suggest(page, "wheat harvest of crude barrels " * 40)
    wide = "document.documentElement.scrollWidth"
    assert page.evaluate(wide) == 360
    page.locator(f"{chip(page, 'grain')} .name").hover()
    assert page.locator("#words").bounding_box()["y"] >= 0  # the lit words stay in sight
    expect(page.locator("#words .word[data-level='4']").first).to_be_in_viewport()
    page.locator("#label-title").focus()  # or the first label would stay lit
    page.locator(f"{chip(page, 'grain')} .name").hover()
    place = page.locator(chip(page, "grain")).bounding_box()
    page.mouse.move(1, 1)
    expect(page.locator("#caption")).not_to_contain_text("grain rests on")
    assert page.locator(chip(page, "grain")).bounding_box() == place  # labels do not run away
    page.click("#view-matrix")
    assert page.evaluate(wide) == 360
    for tab in ("batch", "model"):
        page.click(f"#tab-{tab}")
        assert page.evaluate(wide) == 360


def test_texts_that_cannot_be_read_are_explained(page: Page) -> None:
    alert = page.locator("#suggest-problem [role=alert]")
    page.click("#ask")
    expect(alert).to_have_text("There is no text yet. Paste one, drop a text file, or try the example.")
    expect(page.locator("#text")).to_be_focused()
    page.fill("#text", "😀" * (MOST_CHARACTERS + 1))
    expect(page.locator("#count")).to_have_text("2,001 characters of at most 2,000")
    page.click("#ask")
    expect(alert).to_have_text("The text has 2,001 characters. At most 2,000 are allowed here; shorten it.")
    page.set_input_files("#file", {"name": "a.bin", "mimeType": "", "buffer": b"a\0b"})
    expect(alert).to_have_text("“a.bin” is not a text file. Save it as plain text, or paste its text.")
    page.set_input_files("#file", {"name": "b.txt", "mimeType": "", "buffer": b"a" * 9000})
    expect(alert).to_contain_text("“b.txt” has 8.8 KB. At most 2,000 characters are allowed here")
    suggest(page)
    expect(alert).to_have_count(0)


def test_a_server_that_is_busy_or_gone_is_explained(open_page, site) -> None:
    page = open_page(site.url, expected=("status of 429", "ERR_FAILED", "status of 404"))
    alert = page.locator("[role=alert]:visible")
    busy = {"error": {"code": "busy", "message": "too many texts are waiting"}}
    page.route("**/v1/predict", lambda route: route.fulfill(status=429, json=busy))
    page.fill("#text", TEXT)
    page.click("#ask")
    expect(alert).to_have_text(
        "Too many texts are waiting. Many people are asking at the moment; wait a little and try again."
    )
    expect(page.locator("#nothing-yet")).to_be_visible()
    page.unroute("**/v1/predict")
    page.route("**/v1/predict", lambda route: route.abort())
    page.click("#ask")
    expect(alert).to_contain_text(
        "The server cannot be reached. See whether “seq2set serve” is still running"
    )
    page.unroute("**/v1/predict")
    suggest(page)
    page.click("#accept-rest")
    page.route("**/v1/feedback", lambda route: route.abort())
    page.click("#send")
    expect(alert).to_contain_text("The server cannot be reached.")
    page.unroute("**/v1/feedback")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("#feedback-says")).to_contain_text("Thank you.")


def test_a_page_that_opens_too_early_tries_again(open_page, site) -> None:
    page = open_page("about:blank", ready=False, expected=("ERR_FAILED",))
    page.route("**/v1/model", lambda route: route.abort())
    page.goto(site.url)
    expect(page.locator("#which")).to_have_text("The model could not be opened")
    page.unroute("**/v1/model")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("#which")).to_have_text("br on small · 4 labels")


def test_a_key_is_asked_for_and_feedback_that_is_off_is_explained(open_page, locked_site: str) -> None:
    page = open_page(locked_site, ready=False, expected=("status of 401",))
    dialog = page.get_by_role("dialog", name="This server asks for a key")
    dialog.get_by_label("Key").fill("wrong")
    page.keyboard.press("Enter")
    expect(dialog).to_contain_text("That key was not the right one. Please try another.")
    dialog.get_by_label("Key").fill(KEY)
    page.keyboard.press("Enter")
    page.wait_for_selector("#main[data-ready]")
    expect(dialog).to_be_hidden()
    suggest(page)
    expect(page.locator("#feedback-off")).to_contain_text("This server keeps no feedback; start it with")
    expect(page.locator("#send")).to_be_hidden()
    page.reload()
    page.wait_for_selector("#main[data-ready]")
    assert httpx.get(f"{locked_site}/v1/model").status_code == 401


def test_without_the_key_nothing_is_done(open_page, locked_site: str) -> None:
    page = open_page(locked_site, ready=False, expected=("status of 401",))
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("[role=alert]")).to_contain_text("Nothing can be done without the key.")
