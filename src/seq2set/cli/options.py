"""The options that say how a plain file is read, the same for every verb that takes one."""

from __future__ import annotations

from typing import Annotated

import typer

Text = Annotated[str, typer.Option("--text", help="The column of a plain file that holds the text.")]
Labels = Annotated[str, typer.Option("--labels", help="The column of a plain file that holds the labels.")]
Separator = Annotated[
    str | None,
    typer.Option("--separator", help="What stands between labels that are one text; ';' by default."),
]
Encoding = Annotated[str, typer.Option("--encoding", help="The character encoding of a plain file.")]
KeepMissing = Annotated[
    bool,
    typer.Option("--keep-missing", help="Take `NaN`, `None`, `NA` and the like in a plain file for labels."),
]
