"""Copy the results of finished experiments into the folder `results`: numbers, plots and cells, no texts.

::

    python tools/publish_results.py RUNS... --into results
    python tools/publish_results.py RUNS... --into results --cells     of an experiment that still goes on

With `--cells` the finished trainings alone are stored, so that the same experiment can go on elsewhere
(`seq2set experiment ... --cells results/CORPUS-PRESET/cells`); what is published of it stays as it is.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import seq2set
from results_page import write_page
from seq2set.core.errors import InputError, Seq2SetError
from seq2set.core.files import compute_sha256, read_json, write_json
from seq2set.experiments.cells.cell import ANSWERS, FACTS
from seq2set.experiments.cells.predictions import Answers
from seq2set.experiments.cells.published import publish_cell


def publish(folder: Path, into: Path) -> list[Path]:
    """Copy the numbers, plots and cells of a folder's finished experiments, and write the page over them."""
    found = sorted(folder.glob("*/results.json"))
    if not found:
        raise InputError(f"{folder} holds no finished experiment; name the --out of `seq2set experiment`")
    written = [_publish_experiment(path, into) for path in found]
    write_page(into)
    return written


def _publish_experiment(path: Path, into: Path) -> Path:
    values = read_json(path)
    asked = values.get("asked")
    if not asked:
        raise InputError(f"{path} does not record its request; run the experiment again")
    folder = into / f"{asked['corpus']}-{asked['preset']}"
    _publish_cells(values["cells"], path.parent.parent / "cells", folder / "cells")
    values["cells"] = [_strip_local(cell) for cell in values["cells"]]
    values["published"] = {
        "seq2set": seq2set.__version__,
        "commit": find_commit(Path(seq2set.__file__).parent),
    }
    target = folder / f"{values['experiment']}.json"
    write_json(target, values)
    _publish_plots(path.parent / "figures", target.with_suffix(""))
    return target


def _publish_cells(cells: Sequence[dict[str, Any]], folder: Path, into: Path) -> None:
    """Store each cell without its model, so that experiments elsewhere can use it."""
    for cell in cells:
        path = folder / cell["name"] / ANSWERS
        if not path.is_file() or compute_sha256(path) != cell["answers"]["sha256"]:
            raise InputError(
                f"{path} is not the file that the results were made of; run the experiment again"
            )
        facts = {name: value for name, value in _strip_local(cell).items() if name != "name"}
        publish_cell(cell["name"], facts, Answers.load(path), into)


def publish_finished_cells(folder: Path, into: Path) -> list[Path]:
    """Store the finished cells of an experiment, whether or not all of it is done."""
    found = sorted(folder.glob(f"cells/*/{FACTS}"))
    if not found:
        raise InputError(f"{folder} holds no finished cell; name the --out of `seq2set experiment`")
    for path in found:
        cell = read_json(path) | {"name": path.parent.name}
        target = into / f"{cell['corpus']['name']}-{cell['config']['preset']}" / "cells"
        _publish_cells([cell], folder / "cells", target)
    return found


def _publish_plots(folder: Path, target: Path) -> None:
    """Copy the plots, replacing those that were published before."""
    shutil.rmtree(target, ignore_errors=True)
    for plot in sorted(folder.glob("*.svg")):
        target.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(plot, target / plot.name)


def _strip_local(cell: dict[str, Any]) -> dict[str, Any]:
    """Return a cell's facts without what is on this machine only."""
    config = cell["config"] | {"data": cell["config"]["data"] | {"corpus": cell["corpus"]["name"]}}
    return {name: value for name, value in cell.items() if name != "answers"} | {"config": config}


def find_commit(folder: Path) -> str | None:
    """Return the commit of a folder's files, marked if they were changed since."""
    answers = [
        _run_git(folder, "rev-parse", "--short=12", "HEAD"),
        _run_git(folder, "status", "--porcelain", "."),
    ]
    if answers[0] is None:
        return None
    return answers[0] + (" with changes" if answers[1] else "")


def _run_git(folder: Path, *arguments: str) -> str | None:
    if (git := shutil.which("git")) is None:
        return None
    done = subprocess.run([git, "-C", str(folder), *arguments], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def main(arguments: Sequence[str]) -> int:
    """Publish the folders that are named; without any, only write the page again."""
    parser = argparse.ArgumentParser(description=publish.__doc__)
    parser.add_argument("folders", nargs="*", type=Path, help="what `seq2set experiment` had as --out")
    parser.add_argument("--into", type=Path, default=Path("results"))
    parser.add_argument("--cells", action="store_true", help="store the finished cells alone")
    named = parser.parse_args(arguments)
    try:
        for folder in named.folders:
            (publish_finished_cells if named.cells else publish)(folder, named.into)
        write_page(named.into)
    except Seq2SetError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
