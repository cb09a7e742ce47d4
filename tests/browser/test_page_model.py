from __future__ import annotations

import httpx
from playwright.sync_api import Page, expect


def column(page: Page, number: int) -> list[str]:
    return page.locator(f"#label-table tbody tr > :nth-child({number})").all_inner_texts()


def test_the_model_says_what_it_is(page: Page, site) -> None:
    model = httpx.get(f"{site.url}/v1/model").json()
    expect(page.locator("#which")).to_have_text("br on small · 4 labels")
    page.click("#tab-model")
    tiles = page.locator("#metrics .tile").all_inner_texts()
    shown = [
        [metric["title"], f"{model['metrics'][metric['name']]:.{metric['digits']}f}", metric["summary"]]
        for metric in model["shown_metrics"]
    ]
    assert [tile.splitlines() for tile in tiles] == shown
    expect(page.locator("#rule")).to_have_text(f"Rule: {model['rule']['in_words']}.")
    card = page.locator("#card")
    expect(card.locator("h3")).to_have_text("br on small")
    assert card.locator("h4").all_inner_texts() == [
        line[3:] for line in model["card"].splitlines() if line.startswith("## ")
    ]
    expect(card.locator("pre")).to_have_text('seq2set predict THIS_FOLDER "a text" --explain')
    expect(card.locator("tr", has_text="licence").locator("td")).to_have_text("none")
    assert card.locator("li").count() == sum(line.startswith("- ") for line in model["card"].splitlines())
    page.click("summary:has-text('Files and limits')")
    tensors = page.locator("#facts tr", has_text="model.safetensors")
    expect(tensors).to_contain_text(model["manifest"]["files"]["model.safetensors"]["sha256"])


def test_a_decoders_searches_are_listed(open_page, page: Page, site) -> None:
    page.click("#tab-model")
    expect(page.locator("#searches-part")).to_be_hidden()  # a linear model has none
    model = httpx.get(f"{site.url}/v1/model").json() | {"search_summaries": {"toy": "a search of the test"}}
    other = open_page("about:blank", ready=False)
    other.route("**/v1/model", lambda route: route.fulfill(json=model))
    other.goto(f"{site.url}/#model")
    expect(other.locator("#searches li")).to_have_text(["toy: a search of the test"])


def test_labels_are_searched_and_sorted(page: Page, site) -> None:
    rows = httpx.get(f"{site.url}/v1/model").json()["per_label"]
    page.click("#tab-model")
    page.wait_for_selector("#label-table tbody tr")
    assert column(page, 1) == [row["label"] for row in rows]  # the most frequent first
    assert column(page, 2) == [str(row["frequency"]) for row in rows]
    assert column(page, 6) == [f"{row['f1']:.2f}" for row in rows]
    page.get_by_role("button", name="Label", exact=True).click()
    assert column(page, 1) == ["grain", "money", "oil", "trade"]
    page.keyboard.press("Enter")
    assert column(page, 1) == ["trade", "oil", "money", "grain"]
    expect(page.locator("#label-table th[aria-sort]")).to_have_attribute("aria-sort", "descending")
    page.get_by_role("button", name="Recall").click()
    assert column(page, 5) == sorted((f"{row['recall']:.2f}" for row in rows), reverse=True)
    page.fill("#label-search", "RA")
    assert set(column(page, 1)) == {"grain", "trade"}
    expect(page.locator("#label-table-says")).to_have_text("2 labels found.")
    page.fill("#label-search", "zebra")
    expect(page.locator("#label-table-says")).to_have_text("No label has that in its name.")


def test_models_without_figures_show_all_their_labels_in_parts(open_page, site) -> None:
    page = open_page("about:blank", ready=False)
    model = httpx.get(f"{site.url}/v1/model").json() | {"per_label": None, "labels": 1200}
    made = [{"label": f"label {number:04}", "frequency": number, "threshold": None} for number in range(1200)]
    figures = dict.fromkeys(("precision", "recall", "f1", "support"))

    def part(route) -> None:
        asked = httpx.URL(route.request.url).params
        first = int(asked["offset"])
        rows = [row | figures for row in made[first : first + int(asked["limit"])]]
        route.fulfill(json={"total": len(made), "labels": rows})

    page.route("**/v1/model", lambda route: route.fulfill(json=model))
    page.route("**/v1/labels?*", part)
    page.goto(f"{site.url}/#model")
    expect(page.locator("#label-table-says")).to_have_text("1,200 labels. The first 200 are shown.")
    assert page.locator("#label-table thead th").all_inner_texts() == ["Label", "Training texts", "Threshold"]
    assert column(page, 1)[:2] == ["label 1199", "label 1198"]
    page.click("#label-more")
    assert len(column(page, 1)) == 400
