from __future__ import annotations

import csv
import json
import sqlite3
from contextlib import closing
from pathlib import Path

from actions import TEXT, chip, names, suggest
from playwright.sync_api import Page, expect


def kept_feedback(path: Path, number: int) -> list[tuple[str, str]]:
    query = "SELECT label, verdict FROM feedback_labels WHERE feedback_id = ? ORDER BY place"
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query, (number,)).fetchall()


def number_of(page: Page) -> int:
    said = page.locator("#feedback-says")
    expect(said).to_contain_text("Thank you. Saved as number ")
    return int(said.inner_text().rstrip(".").split()[-1])


def downloaded(page: Page, form: str) -> str:
    page.check(f"input[name=format][value={form}]", force=True)
    with page.expect_download() as waiting:
        page.click("#download")
    assert waiting.value.suggested_filename == f"labels.{'txt' if form == 'plain' else form}"
    return Path(waiting.value.path()).read_text(encoding="utf-8")


def test_labels_are_judged_added_and_sent(page: Page, site) -> None:
    suggest(page)
    expect(page.locator("#send")).to_be_disabled()
    page.click(f"{chip(page, 'grain')} .yes")
    page.click(f"{chip(page, 'oil')} .no")
    expect(page.locator(f"{chip(page, 'grain')} .yes")).to_have_attribute("aria-pressed", "true")
    page.fill("#add", "TRA")
    page.wait_for_selector("#completions li")
    assert page.locator("#completions li span").all_inner_texts() == ["trade", "TRA"]
    page.keyboard.press("ArrowDown")
    expect(page.locator("#add")).to_have_attribute("aria-activedescendant", "completion-0")
    page.keyboard.press("Enter")
    page.locator("#add").press_sequentially("harbour towns")
    page.wait_for_selector("#completions li small:has-text('new to the model')")
    page.keyboard.press("Enter")
    assert names(page, "#added") == ["trade", "harbour towns"]
    expect(page.locator("#feedback-counts")).to_have_text(
        "1 accepted, 1 rejected, 2 added, 1 undecided. Undecided labels are left out."
    )
    page.click("#accept-rest")
    expect(page.locator("#send")).to_be_focused()
    page.keyboard.press("Enter")
    assert kept_feedback(site.feedback, number_of(page)) == [
        *((label, "accepted") for label in names(page) if label != "oil"),
        ("oil", "rejected"),
        ("trade", "added"),
        ("harbour towns", "added"),
    ]
    expect(page.locator("#send")).to_be_disabled()  # the same is not sent twice
    page.click(f"{chip(page, 'oil')} .no")
    expect(page.locator("#send")).to_be_enabled()


def test_keys_judge_and_take_back(page: Page) -> None:
    suggest(page)
    first, second, third = names(page)
    page.keyboard.press("a")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("R")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("a")
    page.keyboard.press("a")
    verdicts = [page.get_attribute(chip(page, label), "data-verdict") for label in (first, second, third)]
    assert verdicts == ["yes", "no", "none"]
    struck = page.locator(f"{chip(page, second)} .name span:first-child")
    expect(struck).to_have_css("text-decoration-line", "line-through")  # seen without colour


def test_a_label_that_was_considered_can_be_added_and_removed(page: Page) -> None:
    suggest(page)
    page.click("#considered-part summary")
    assert names(page, "#considered") == ["trade"]
    page.click(f"#considered {chip(page, 'trade')} .yes")
    assert (names(page, "#added"), names(page, "#considered")) == (["trade"], [])
    page.locator("#threshold").fill("0")  # now it is suggested, and what was said of it holds
    expect(page.locator(f"#suggested {chip(page, 'trade')}")).to_have_attribute("data-verdict", "yes")
    expect(page.locator("#feedback-counts")).to_contain_text("1 accepted, 0 rejected, 0 added, 3 undecided")
    page.click("#threshold-own")
    page.click(f"#added {chip(page, 'trade')} .yes")
    expect(page.locator("#added-part")).to_be_hidden()


def test_what_was_said_of_a_text_holds_until_the_text_is_another(page: Page) -> None:
    suggest(page)
    page.click(f"{chip(page, 'oil')} .no")
    page.click("#edit")
    page.click("#ask")
    expect(page.locator(f"#suggested {chip(page, 'oil')}")).to_have_attribute("data-verdict", "no")
    page.click("#edit")
    suggest(page, f"{TEXT} More crude.")
    expect(page.locator(f"#suggested {chip(page, 'oil')}")).to_have_attribute("data-verdict", "none")


def test_a_completion_can_be_clicked_or_left(page: Page) -> None:
    suggest(page)
    page.fill("#add", "a")
    page.wait_for_selector("#completions li")
    expect(page.locator("#add")).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Escape")
    expect(page.locator("#completions")).to_be_hidden()
    page.fill("#add", "trad")
    page.locator("#completions li", has_text="trade").click()
    assert names(page, "#added") == ["trade"]
    expect(page.locator("#add")).to_have_value("")
    expect(page.locator("#add")).to_be_focused()


def test_labels_are_taken_away_in_three_forms(page: Page) -> None:
    suggest(page)
    page.click(f"{chip(page, 'oil')} .no")
    page.click(f"{chip(page, 'grain')} .yes")
    page.fill("#add", 'say "cheese", please')
    page.keyboard.press("Enter")
    stay = [label for label in names(page) if label != "oil"]
    status = {"grain": "accepted", "money": "suggested"}
    assert downloaded(page, "plain").splitlines() == [*stay, 'say "cheese", please']
    head, *rows = csv.reader(downloaded(page, "csv").splitlines())
    assert head == ["label", "score", "status"]
    assert [(row[0], row[2]) for row in rows] == [
        *((label, status[label]) for label in stay),
        ('say "cheese", please', "added"),
    ]
    found = json.loads(downloaded(page, "json"))
    assert (found["text"], found["model"], found["threshold"]) == (TEXT, "br", None)
    assert [one["label"] for one in found["labels"]] == [row[0] for row in rows]
    assert [str(one["score"]) for one in found["labels"][:2]] == [row[1] for row in rows[:2]]
    assert found["labels"][0]["evidence"][0].keys() >= {"word", "start", "end", "weight"}


def test_labels_are_copied(page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    suggest(page)
    page.click("#copy")
    expect(page.locator("#taken")).to_have_text("3 labels copied.")
    assert page.evaluate("navigator.clipboard.readText()").splitlines() == names(page)
    # Pages that come over plain HTTP from another machine have no clipboard of the new kind.
    page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    page.check("input[name=format][value=csv]", force=True)
    page.click(f"{chip(page, 'oil')} .no")
    page.click("#copy")
    expect(page.locator("#taken")).to_have_text("2 labels copied.")
    page.fill("#add", "")
    page.focus("#add")
    page.keyboard.press("Control+V")
    assert page.input_value("#add").startswith("label,score,status")
