from __future__ import annotations

import httpx
from actions import TEXT, chip, counting_requests, drop, lit, names, suggest
from playwright.sync_api import Page, expect

SIGNS = {"grain": {"wheat", "harvest"}, "oil": {"Crude", "barrels"}, "money": {"bank", "rates"}}


def candidates(url: str, text: str = TEXT) -> list[dict]:
    body = {"text": text, "explain": True, "candidates": 40}
    return httpx.post(f"{url}/v1/predict", json=body).json()["predictions"][0]["candidates"]


def shown(one: dict) -> list[dict]:
    """Return the words that are worth a look: a twentieth of the heaviest or more."""
    words = one["evidence"] + one["against"]
    least = max((abs(word["weight"]) for word in words), default=0) / 20
    return [word for word in words if abs(word["weight"]) >= least]


def test_a_text_gets_chips_with_the_scores_of_the_model(page: Page, site) -> None:
    suggest(page)
    given = [one for one in candidates(site.url) if one["given"]]
    assert names(page) == [one["label"] for one in given]
    assert set(names(page)) == {"grain", "oil", "money"}
    for one in given:
        share = round(100 * one["score"])
        expected = ">\u202f99\u202f%" if share == 100 else f"{share}\u202f%"
        assert page.inner_text(f"{chip(page, one['label'])} .score") == expected
    expect(page.locator("#label-count")).to_have_text("3 labels suggested")
    expect(page.locator("#announce")).to_have_text("3 labels suggested.")
    assert page.inner_text("#words") == TEXT


def test_pointing_at_a_label_lights_its_words_in_the_right_places(page: Page, site) -> None:
    suggest(page)
    page.locator("#text-title").hover()
    for one in candidates(site.url)[:3]:
        page.locator(f"{chip(page, one['label'])} .name").hover()
        words = {word["word"]: abs(word["weight"]) for word in shown(one)}
        assert set(" ".join(lit(page)).replace("−", "").split()) == set(" ".join(words).split())
        assert set(" ".join(word["word"] for word in one["evidence"]).split()) >= SIGNS[one["label"]]
        heaviest = one["evidence"][0]["word"]
        assert max(words, key=words.__getitem__) == heaviest
        # The more weight, the higher the level: quarters of the heaviest. A phrase is cut where others begin.
        levels = {part: -(-4 * words[word] // words[heaviest]) for word in words for part in word.split()}
        pieces = ((piece.replace("−", "").split(), level) for piece, level in lit(page).items())
        assert all(level == levels[words_of[0]] for words_of, level in pieces if words_of)
        assert page.inner_text("#caption").startswith(f"{one['label']} rests on {heaviest} ")
    page.locator("#text-title").hover()
    page.locator("#label-title").focus()
    assert lit(page) == {}


def test_a_word_is_lit_wherever_it_stands(page: Page, site) -> None:
    suggest(page, "😀 Wheat, and wheat again; buckwheat is none. (WHEAT)")
    expect(page.locator("#words .word[data-level='4']")).to_have_text(["Wheat", "wheat", "WHEAT"])
    page.locator("#label-title").focus()
    page.locator("#words .word").last.hover()
    expect(page.locator("#caption")).to_contain_text("“WHEAT” is evidence for grain")


def answer_with(page: Page, *candidates: dict) -> None:
    """Answer the page's requests with these labels."""
    usual = {"score": 0.9, "given": True, "evidence": [], "against": [], "mark": None}
    answer = {
        "predictions": [{"labels": [], "candidates": [usual | one for one in candidates], "note": None}]
    }
    page.route("**/v1/predict", lambda route: route.fulfill(json=answer))


def reason(text: str, word: str, weight: float) -> dict:
    start = text.index(word)
    return {"word": word, "start": start, "end": start + len(word), "weight": weight, "names_label": False}


def test_a_phrase_that_another_label_cuts_is_lit_without_a_seam(page: Page) -> None:
    text = "The heart rate fell."
    phrase, word = reason(text, "heart rate", 1), reason(text, "heart", 1)
    answer_with(page, {"label": "grain", "evidence": [phrase]}, {"label": "oil", "evidence": [word]})
    suggest(page, text)
    page.locator(f"{chip(page, 'grain')} .name").focus()
    pieces = page.locator("#words .word[data-level]")
    expect(pieces).to_have_text(["heart", " rate"])
    boxes = [pieces.nth(place).bounding_box() for place in (0, 1)]
    assert abs(boxes[0]["x"] + boxes[0]["width"] - boxes[1]["x"]) < 0.5  # neither covers the other's letters


def test_only_what_is_suggested_is_marked_for_review(page: Page) -> None:
    kinds = [("grain", "accept", True), ("oil", "review", True), ("money", "review", False)]
    answer_with(page, *({"label": label, "mark": mark, "given": given} for label, mark, given in kinds))
    suggest(page)
    assert page.locator("#suggested .mark").all_inner_texts() == ["accept", "review"]
    page.click("#considered-part summary")
    expect(page.locator("#considered .chip")).to_have_count(1)
    expect(page.locator("#considered .mark")).to_have_count(0)


def test_the_matrix_shows_the_heaviest_word_of_the_lit_label(page: Page) -> None:
    text = " ".join(f"word{place}" for place in range(24))
    light = [reason(text, f"word{place} ", 0.2) | {"word": f"word{place}"} for place in range(23)]
    answer_with(
        page,
        {"label": "grain", "evidence": light},
        {"label": "oil", "evidence": [reason(text, "word23", 1)]},
    )
    suggest(page, text)
    page.click("#view-matrix")
    heaviest = page.locator('.matrix tr[data-label="oil"] td[data-level="4"]')
    expect(heaviest).not_to_be_in_viewport(ratio=1)
    page.locator(f"{chip(page, 'oil')} .name").focus()
    expect(heaviest).to_be_in_viewport(ratio=1)
    page.locator(f"{chip(page, 'grain')} .name").focus()
    expect(page.locator(".matrix thead th").first).to_be_in_viewport(ratio=1)


def test_focus_lights_and_enter_keeps_words_lit(page: Page) -> None:
    suggest(page)
    first, second, _ = names(page)
    focused = "document.activeElement.closest('.chip').dataset.label"
    assert page.evaluate(focused) == first  # the labels are what one wants to see next
    words = lit(page)
    page.keyboard.press("ArrowRight")
    assert page.evaluate(focused) == second
    assert lit(page).keys() != words.keys()
    page.keyboard.press("End")
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    page.locator("#threshold").focus()
    assert lit(page) == words
    expect(page.locator(f"{chip(page, first)} .name")).to_have_attribute("aria-pressed", "true")
    page.locator(f"{chip(page, first)} .name").focus()
    page.keyboard.press("Escape")
    page.locator("#threshold").focus()
    assert lit(page) == {}


def test_lit_words_differ_without_colour(page: Page) -> None:
    suggest(page)
    legend = page.locator(".legend .word")
    lines = legend.evaluate_all(
        "all => all.map(one => parseFloat(getComputedStyle(one).textDecorationThickness))"
    )
    *levels, against = lines
    assert levels == sorted(set(levels))
    assert len(levels) == 4
    assert legend.last.evaluate("one => getComputedStyle(one).textDecorationStyle") == "dashed"
    assert against > 0


def test_pointing_at_a_word_shows_its_labels(page: Page, site) -> None:
    suggest(page)
    words = {
        one["label"]: {part for word in one["evidence"] for part in word["word"].split()}
        for one in candidates(site.url)
    }
    resting = [label for label in names(page) if "barrels" in words[label]]
    assert resting[0] == "oil"
    page.locator("#label-title").focus()
    page.locator("#words .word", has_text="barrels").hover()
    expect(page.locator("#caption")).to_have_text(f"“barrels” is evidence for {', '.join(resting)}.")
    assert page.locator(".chip.rests .name span:first-child").all_inner_texts() == resting
    page.locator("#text-title").hover()
    expect(page.locator(".chip.rests")).to_have_count(0)


def test_the_slider_chooses_without_a_request(page: Page, site) -> None:
    suggest(page)
    scores = {one["label"]: one["score"] for one in candidates(site.url)}
    own = names(page)
    asked = counting_requests(page)
    for percent in (0, 5, 50, 100):
        page.locator("#threshold").fill(str(percent))
        expect(page.locator("#threshold-value")).to_have_text(f"{percent}\u202f%")
        assert names(page) == [label for label, score in scores.items() if score >= percent / 100]
    expect(page.locator("#none-suggested")).to_be_visible()
    page.locator("#threshold").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#threshold-value")).to_have_text("1\u202f%")
    page.click("#threshold-own")
    assert names(page) == own
    assert asked == []


def test_a_text_without_a_known_word_gets_words_instead_of_labels(page: Page) -> None:
    suggest(page, "Ein Zebra, 42 Okapis")
    expect(page.locator("#nothing-known")).to_have_text(
        "The model knows no word of this text, so it has nothing to suggest. Check the language of the text, "
        "or add labels by hand."
    )
    expect(page.locator("#none-suggested")).to_be_hidden()
    expect(page.locator("#announce")).to_have_text(
        "The model knows no word of this text. 0 labels suggested."
    )
    page.locator("#threshold").fill("0")
    assert page.locator(".chip").count() == 0
    page.fill("#add", "grain")
    page.keyboard.press("Enter")
    assert names(page, "#added") == ["grain"]
    page.click("#edit")
    suggest(page)
    expect(page.locator("#nothing-known")).to_be_hidden()


def test_the_matrix_shows_words_by_labels(page: Page, site) -> None:
    suggest(page)
    likeliest = sorted(candidates(site.url), key=lambda one: -one["score"])
    given = {one["label"]: shown(one) for one in likeliest if one["given"]}
    page.click("#view-matrix")
    expect(page.locator("#words")).to_be_hidden()
    words = page.locator(".matrix thead th").all_inner_texts()
    starts = {word["word"].lower(): word["start"] for each in given.values() for word in each}
    totals = dict.fromkeys(starts, 0.0)
    for word in (word for each in given.values() for word in each):
        totals[word["word"].lower()] += abs(word["weight"])
    assert words == sorted(starts, key=lambda word: (starts[word], -totals[word]))
    assert page.locator(".matrix tbody th").all_inner_texts() == list(given)
    for label, evidence in given.items():
        cells = page.locator(f'.matrix tr[data-label="{label}"] td').all_inner_texts()
        weights = {word["word"].lower(): f"{round(100 * word['weight'])}" for word in evidence}
        weights = {word: share.replace("-", "−") for word, share in weights.items()}
        assert cells == [weights.get(word, "") for word in words]
    page.locator(f"{chip(page, 'oil')} .name").focus()
    expect(page.locator(".matrix tr.lit")).to_have_attribute("data-label", "oil")
    page.locator("#threshold").fill("100")
    expect(page.locator("#matrix")).to_have_text("There are no words to show.")
    page.click("#view-text")
    expect(page.locator("#words")).to_be_visible()


def test_texts_come_by_example_from_files_and_by_dropping(page: Page) -> None:
    text = page.locator("#text")
    page.click("#example")
    assert "library" in text.input_value()
    expect(page.locator("#count")).to_have_text(f"{len(text.input_value())} characters")
    page.click("#clear")
    expect(page.locator("#count")).to_have_text("0 characters")
    page.set_input_files(
        "#file", {"name": "a.txt", "mimeType": "text/plain", "buffer": "prêt".encode("cp1252")}
    )
    expect(text).to_have_value("prêt")
    drop(page, "#text", "b.txt", "wheat 😀")
    expect(text).to_have_value("wheat 😀")
    expect(page.locator("#count")).to_have_text("7 characters")
    expect(page.locator("#text-card")).not_to_have_class("card dropping")
    page.click("#ask")
    page.wait_for_selector("#suggested .chip")
    page.click("#edit")
    expect(text).to_be_focused()
    expect(text).to_have_value("wheat 😀")


def test_while_a_text_is_read_the_page_says_so(page: Page) -> None:
    held = []
    page.route("**/v1/predict", lambda route: held.append(route))
    page.fill("#text", TEXT)
    page.click("#ask")
    expect(page.locator("#waiting")).to_be_visible()
    expect(page.locator("#label-card")).to_have_attribute("aria-busy", "true")
    expect(page.locator("#ask")).to_have_text("Reading…")
    expect(page.locator("#ask")).to_be_disabled()
    held[0].continue_()
    expect(page.locator("#found")).to_be_visible()
    expect(page.locator("#label-card")).to_have_attribute("aria-busy", "false")
