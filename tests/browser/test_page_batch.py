from __future__ import annotations

import csv
import json
from pathlib import Path

import httpx
from actions import drop
from playwright.sync_api import Page, expect

ROWS = [("n1", 'wheat, "harvest"\nbushels'), ("n2", "crude barrels"), ("n3", "")]


def table(rows: list[tuple[str, str]]) -> str:
    quoted = (f'{name},"{text.replace(chr(34), chr(34) * 2)}"\n' for name, text in rows)
    return "number,abstract\n" + "".join(quoted)


def choose(page: Page, name: str, content: str | bytes) -> None:
    data = content.encode() if isinstance(content, str) else content
    page.set_input_files("#batch-file", {"name": name, "mimeType": "", "buffer": data})


def downloaded(page: Page, name: str) -> str:
    with page.expect_download() as waiting:
        page.click("#batch-download")
    assert waiting.value.suggested_filename == name
    return Path(waiting.value.path()).read_text(encoding="utf-8")


def test_a_dropped_table_comes_back_with_labels(page: Page, site) -> None:
    page.click("#tab-batch")
    drop(page, "#dropzone", "notes.csv", table(ROWS), "text/csv")
    expect(page.locator("#batch-file-name")).to_have_text("notes.csv")
    expect(page.locator("#batch-text")).to_have_value("abstract")
    page.select_option("#batch-id", "number")
    page.fill("#batch-most", "1")
    page.click("#batch-start")
    expect(page.locator("#batch-says")).to_have_text("Done: 3 texts labelled.")
    expect(page.locator("#batch-download")).to_be_focused()
    asked = {"text": "abstract", "id": "number", "max_labels": 1}
    kind = {"content-type": "text/csv"}
    told = httpx.post(f"{site.url}/v1/batch", params=asked, headers=kind, content=table(ROWS)).text
    found = downloaded(page, "notes-labels.csv")
    assert list(csv.reader(found.splitlines())) == list(csv.reader(told.splitlines()))
    shown = page.locator("#batch-preview tbody tr").all_inner_texts()
    assert [row.split()[:2] for row in shown[:2]] == [["n1", "grain"], ["n2", "oil"]]
    assert shown[2].split("\t") == ["n3", "no label: no known words"]


def test_json_lines_come_back_with_words(page: Page) -> None:
    page.click("#tab-batch")
    choose(page, "notes.jsonl", "".join(json.dumps({"text": text}) + "\n" for _, text in ROWS))
    page.check("#batch-explain")
    page.fill("#batch-threshold", "0")
    page.click("#batch-start")
    found = [json.loads(line) for line in downloaded(page, "notes-labels.jsonl").splitlines()]
    assert [one["id"] for one in found] == ["1", "2", "3"]
    # Every label reaches a threshold of nothing, but the last text is empty.
    assert [len(one["labels"]) for one in found] == [4, 4, 0]
    assert found[2]["note"] == "no known words"
    assert found[0]["labels"][0]["evidence"]


def test_progress_is_seen_and_a_run_can_be_cancelled(page: Page) -> None:
    page.click("#tab-batch")
    choose(page, "many.csv", "text\n" + "wheat harvest\n" * 30_000)
    page.click("#batch-start")
    expect(page.locator("#batch-cancel")).to_be_focused()
    expect(page.locator("#batch-says")).to_contain_text(" of 30,000 texts labelled…")
    expect(page.locator("#batch-progress")).to_have_attribute("max", "30000")
    page.wait_for_function("document.getElementById('batch-progress').value > 1")
    page.keyboard.press("Enter")
    said = page.locator("#batch-says")
    expect(said).to_contain_text("Cancelled after ")
    done = int(said.inner_text().split()[2].replace(",", ""))
    assert 1 < done < 30_000
    rows = downloaded(page, "many-labels.csv").splitlines()
    assert len(rows) == 1 + done
    expect(page.locator("#batch-start")).to_be_enabled()


def test_a_table_dropped_on_the_first_tab_goes_to_this_one(page: Page) -> None:
    drop(page, "#text", "notes.tsv", "id\tTitle\n1\twheat\n")
    expect(page.locator("#panel-batch")).to_be_visible()
    expect(page.locator("#batch-text")).to_have_value("Title")
    expect(page.locator("#batch-id")).to_have_value("id")


def test_files_that_cannot_be_read_are_explained(open_page, site) -> None:
    page = open_page(site.url, expected=("status of 422",))
    page.click("#tab-batch")
    alert = page.locator("#batch-problem [role=alert]")
    for name, content, sentence in [
        ("photo.png", "x", "“photo.png” cannot be read as a table. Choose a .csv, .tsv or .jsonl file."),
        ("empty.csv", "", "“empty.csv” is empty. Choose a file with a text in each row."),
        ("list.jsonl", "[1]\n", "“list.jsonl” has no columns. Each line must hold one JSON object."),
        ("big.csv", "x" * 2_000_001, "“big.csv” has 1.9 MB. At most 1.9 MB are allowed here; split it."),
    ]:
        choose(page, name, content)
        expect(alert).to_have_text(sentence)
        expect(page.locator("#batch-ready")).to_be_hidden()
    choose(page, "uneven.csv", "text,other\nwheat\n")
    page.click("#batch-start")
    expect(alert).to_contain_text(
        "The file, line 2: the row has 1 cell; the header has 2; write ',' for each cell that is empty. "
        "Correct it and try again."
    )
    choose(page, "western.csv", "text\nprêt\n".encode("cp1252"))
    page.click("#batch-start")
    expect(alert).to_contain_text("Correct it and try again.")
    page.select_option("#batch-encoding", "windows-1252")
    page.click("#batch-start")
    expect(page.locator("#batch-says")).to_have_text("Done: 1 text labelled.")


def test_results_that_break_off_are_kept_and_explained(page: Page) -> None:
    page.click("#tab-batch")
    lines = '{"id": "1", "labels": []}\n{"error": {"code": "internal", "message": "something went wrong"}}\n'
    answer = {"X-Total-Documents": "2", "Content-Type": "application/x-ndjson"}
    page.route("**/v1/batch?*", lambda route: route.fulfill(headers=answer, body=lines))
    choose(page, "notes.jsonl", '{"text": "a"}\n{"text": "b"}\n')
    page.click("#batch-start")
    expect(page.locator("#batch-problem")).to_contain_text("Something went wrong. Try again;")
    expect(page.locator("#batch-says")).to_contain_text("that came can be downloaded.")
    page.unroute("**/v1/batch?*")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("#batch-says")).to_have_text("Done: 2 texts labelled.")
