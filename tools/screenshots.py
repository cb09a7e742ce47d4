"""Make the pictures in docs/images anew: of the page of a served model, its report, and an experiment's page.

    seq2set tune --calibrate RUN --data medline
    seq2set tune --thresholds RUN --data medline --accept precision=0.95
    seq2set evaluate RUN --data medline --report REPORT
    python tools/screenshots.py RUN --report REPORT/index.html --experiment EXPERIMENT/compare/index.html

RUN is a `seq2set` trained on medline: the page's example and the notes below are made up for its labels.
EXPERIMENT is what `seq2set experiment compare` wrote. Chromium must be there (`make browser`).
"""

from __future__ import annotations

import argparse
import csv
import io
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright
from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
MOST_BYTES = 200_000
COLUMNS = 120
PATIENCE = 300_000  # milliseconds

NOTES = """\
Slow breathing lowers blood pressure. Forty-two women and men, aged 61 to 79 years, took part in the trial.
Insulin and the liver of the rat. Liver cells in culture took up more glucose when insulin was added.
Iron tablets in pregnancy. Mothers who took them gave birth to heavier newborn infants.
A gene for small kidneys in mice. Mice that lacked it had lower urine volume and higher potassium.
Calcium and the membranes of rabbit muscle. Binding was fast at neutral pH and slower in acid.
Asthma at school. Boys and girls aged 4 to 14 years breathed better after a week of swimming.
What a visit to the clinic costs. Patients were asked how far they had to travel.
A sheep's lung after surgery. Oxygen consumption fell during anesthesia and rose again in an hour.
Two strains of Escherichia coli. The plasmid made the bacteria resistant to penicillin.
How monkeys learn to wait. Rhesus monkeys pressed a lever for juice; dopamine made them hasty.
Radiotherapy of breast cancer. Five years later most of the patients were free of metastases.
Thyroid hormones in the cold. Thyrotropin in plasma rose within minutes in young men.
"""

ABSTRACT = (
    "Effect of exercise on blood pressure in spontaneously hypertensive rats. Male rats ran on a "
    "treadmill for twelve weeks, and arterial pressure and heart rate were recorded every week. "
    "Pressure fell in the trained animals but not in the controls, and the weight of the left ventricle "
    "was lower. We conclude that training slows the rise of hypertension in young rats."
)

VERDICTS = {"Humans": "yes", "Blood Pressure": "yes", "Middle Aged": "no"}


@contextmanager
def serve(run: Path, folder: Path) -> Iterator[str]:
    """Start a server that keeps feedback on a free port, and end it afterwards."""
    options = ["--port", "0", "--no-access-log", "--feedback", str(folder / "feedback.sqlite")]
    command = [sys.executable, "-m", "seq2set", "serve", str(run), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


def open_page(browser: Browser, url: str, width: int, height: int, dark: bool = False) -> Page:
    """Open a page of its own, without movements."""
    page = browser.new_page(viewport={"width": width, "height": height})
    page.emulate_media(color_scheme="dark" if dark else "light", reduced_motion="reduce")
    page.set_default_timeout(PATIENCE)
    page.goto(url)
    return page


def suggest(page: Page) -> None:
    """Ask for the example's labels, judge some, and add one that was not suggested."""
    page.wait_for_selector("#main[data-ready]")
    page.click("#example")
    page.click("#ask")
    page.wait_for_selector("#found:not([hidden])")
    for label, verdict in VERDICTS.items():
        _click(page, f'#suggested .chip[data-label="{label}"] .{verdict}')
    page.click("#considered-part summary")
    _click(page, '#considered .chip[data-label="Aged"] .yes')


def _click(page: Page, selector: str) -> None:
    """Click on what another model need not show."""
    if page.locator(selector).count():
        page.click(selector)


def keep_lit(page: Page, label: str) -> None:
    """Let the words of a label stay lit, with the pointer elsewhere."""
    page.click(f'.chip[data-label="{label}"] .name')
    page.mouse.move(2, 2)


def show_suggestions(browser: Browser, url: str) -> Page:
    """Show the text with the words of one label."""
    page = open_page(browser, url, 1280, 860)
    suggest(page)
    page.click("#considered-part summary")
    keep_lit(page, "Blood Pressure")
    return page


def show_matrix(browser: Browser, url: str) -> Page:
    """Show words by labels, in dark colours."""
    page = open_page(browser, url, 1280, 860, dark=True)
    suggest(page)
    page.click("#view-matrix")
    keep_lit(page, "Heart Rate")
    return page


def show_narrow(browser: Browser, url: str) -> Page:
    """Show the text over the labels, as on a phone."""
    page = open_page(browser, url, 360, 740)
    suggest(page)
    keep_lit(page, "Blood Pressure")
    page.evaluate("scrollTo(0, scrollY + suggested.getBoundingClientRect().top - 385)")
    return page


def show_batch(browser: Browser, url: str) -> Page:
    """Show the first results of a file."""
    page = open_page(browser, f"{url}/#batch", 1280, 860)
    page.wait_for_selector("#main[data-ready]")
    table = io.StringIO()
    csv.writer(table).writerows([["abstract"], *([line] for line in NOTES.splitlines())])
    file = {"name": "notes.csv", "mimeType": "text/csv", "buffer": table.getvalue().encode()}
    page.set_input_files("#batch-file", file)  # type: ignore[arg-type]
    page.click("#batch-start")
    page.wait_for_selector("#batch-done:not([hidden])")
    page.mouse.move(2, 2)
    return page


def show_model(browser: Browser, url: str) -> Page:
    """Show metrics and labels of the model."""
    page = open_page(browser, f"{url}/#model", 1280, 860)
    page.wait_for_selector("#model-found:not([hidden]) tbody tr")
    return page


SERVED = {
    "page": show_suggestions,
    "page-dark": show_matrix,
    "page-narrow": show_narrow,
    "page-batch": show_batch,
    "page-model": show_model,
}
WHOLE = ("page", "page-dark", "page-batch")  # the others end where the window does


def draw_served(browser: Browser, run: Path, out: Path) -> None:
    """Draw the page of a server."""
    with tempfile.TemporaryDirectory() as folder, serve(run, Path(folder)) as url:
        for name, show in SERVED.items():
            page = show(browser, url)
            store(page.screenshot(full_page=name in WHOLE), out / f"{name}.png")
            page.context.close()


def draw_file(browser: Browser, path: Path, target: Path, plots: int) -> None:
    """Draw a page that is a file, down to the end of so many plots."""
    page = open_page(browser, path.resolve().as_uri(), 1160, 900)
    box = page.locator("figure").nth(plots - 1).bounding_box()
    assert box is not None
    whole = {"x": 0, "y": 0, "width": 1160, "height": box["y"] + box["height"] + 6}
    store(page.screenshot(full_page=True, clip=whole), target)  # type: ignore[arg-type]
    page.context.close()


def draw_terminal(browser: Browser, run: Path, target: Path) -> None:
    """Draw what a terminal shows of a prediction."""
    command = [sys.executable, "-m", "seq2set", "predict", str(run), ABSTRACT, "--explain"]
    coloured = os.environ | {"FORCE_COLOR": "1", "COLUMNS": str(COLUMNS)}
    said = subprocess.run(command, env=coloured, stdout=subprocess.PIPE, text=True, check=True).stdout
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    beginning = ABSTRACT.split(" in ")[0]
    console.print(Text(f'$ seq2set predict RUN "{beginning} ..." --explain\n', style="bold"))
    console.print(Text.from_ansi(said))
    page = browser.new_page(viewport={"width": 1600, "height": 900})
    page.set_content(console.export_svg(title="seq2set"))
    store(page.locator("svg").screenshot(), target)
    page.context.close()


def store(screenshot: bytes, target: Path) -> None:
    """Write a picture; one that is too large gets a palette."""
    picture = Image.open(io.BytesIO(screenshot)).convert("RGB")
    picture.save(target, optimize=True)
    if target.stat().st_size > MOST_BYTES:
        picture.quantize(256, dither=Image.Dither.NONE).save(target, optimize=True)
    print(f"{target.name}: {picture.width} x {picture.height}, {target.stat().st_size:,} bytes")


def main() -> None:
    """Draw what the command line names."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path)
    parser.add_argument("--report", type=Path, help="the page that `seq2set evaluate --report` wrote")
    parser.add_argument("--experiment", type=Path, help="the page that `seq2set experiment` wrote")
    parser.add_argument("--out", type=Path, default=ROOT / "docs/images")
    given = parser.parse_args()
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        draw_served(browser, given.run, given.out)
        draw_terminal(browser, given.run, given.out / "demo.png")
        if given.report:
            draw_file(browser, given.report, given.out / "report.png", plots=4)
        if given.experiment:
            draw_file(browser, given.experiment, given.out / "experiment.png", plots=1)
        browser.close()


if __name__ == "__main__":
    main()
