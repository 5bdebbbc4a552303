"""Files that others publish: address, checksum, and the way to them."""

from __future__ import annotations

import hashlib
import os
import sys
import urllib.request
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
TVINE_SYNTH = "https://raw.githubusercontent.com/ElisabethGriesbauer/T-Vine-Synth"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One published file.

    Attributes:
        publisher: The page that describes it.
        address: The file itself.
        file: Its name in the folder of files.
        sha256: Of its bytes; None where only the prepared table was at hand when this was written, which is checked
            instead once it is made (`benchmarks.data.prepare`).
        prepared: Name and checksum of the prepared table; a folder of SKLAR_DATA may hold that one alone.
    """

    publisher: str
    address: str
    file: str
    sha256: str | None
    prepared: tuple[str, str] | None = None


SOURCES = {
    "adult": Source(
        publisher="https://archive.ics.uci.edu/dataset/2/adult",
        address="https://archive.ics.uci.edu/ml/machine-learning-databases/adult/adult.data",
        file="adult.data",
        sha256="5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
        prepared=("adult.csv", "39568979e8e68e8a30c4a4074fd9b9148119220a2327b83651ce9b245c3bcee3"),
    ),
    "compas": Source(
        publisher="https://github.com/propublica/compas-analysis",
        address="https://raw.githubusercontent.com/propublica/compas-analysis/master/compas-scores.csv",
        file="compas-scores.csv",
        sha256=None,
        prepared=("compas.csv", "a40c311589547b44f42c48e2f6e4b95f659ffadd4539e2f97e5e336e80447b49"),
    ),
    "support2": Source(
        publisher="https://archive.ics.uci.edu/dataset/880/support2",
        address=f"{TVINE_SYNTH}/b79dda5b533cf69df4b7a6ef892984e19f0412f6/data/raw/raw_support2.csv",
        file="raw_support2.csv",
        sha256="d24614e253adbd4fa70fd6246cbfc7291acfd5f5c40cffc20f6f6f46a939b24b",
    ),
    "hmeq": Source(
        publisher="http://www.creditriskanalytics.net/datasets-private2.html",
        address="http://www.creditriskanalytics.net/uploads/1/9/5/1/19511601/hmeq.csv",
        file="hmeq.csv",
        sha256="2562c8a353f1ca15f5121aaf0077a141512e701a04cf837da753c895ca1ab2b1",
    ),
}
"""Adult's checksum is the one that other projects record for the same address; SUPPORT2's is of the copy that the
authors of TVineSynth publish with their code; HMEQ's is of a copy of the file at its address."""


def folder() -> Path:
    """Where files are: SKLAR_DATA, or a folder of this repository."""
    return Path(os.environ.get("SKLAR_DATA") or HERE / "files")


def find(name: str) -> Path:
    """The file of a table, checked: prepared or as published; fetched if the folder has neither."""
    source = SOURCES[name]
    if source.prepared and (folder() / source.prepared[0]).exists():
        return checked(folder() / source.prepared[0], source.prepared[1])
    path = folder() / source.file
    if not path.exists():
        fetch(source, path)
    return checked(path, source.sha256)


def fetch(source: Source, path: Path) -> None:
    """Download a file; a folder that SKLAR_DATA names is left as it is."""
    if os.environ.get("SKLAR_DATA"):
        sys.exit(f"SKLAR_DATA has no {path.name}; get it at {source.address}, or unset SKLAR_DATA to have it fetched")
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    try:
        urllib.request.urlretrieve(source.address, part)
    except OSError as error:
        sys.exit(f"{source.address} cannot be had ({error}); put the file into a folder and name it by SKLAR_DATA")
    part.replace(path)


def checked(path: Path, sha256: str | None) -> Path:
    """The path, if its bytes are the ones meant."""
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if sha256 not in (None, found):
        sys.exit(f"{path} is another file: its SHA-256 is {found}, expected {sha256}; remove it to have it fetched")
    return path
