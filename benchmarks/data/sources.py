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
COPULA_SHIRLEY = "https://raw.githubusercontent.com/alxxrg/copula-shirley"
SUPPORT2_TABLES = {
    "PrivPGD": "24e06fc67dbb11d328991ffa12214eff629386fb",
    "CTGAN": "d19443e096ef76676665732f52eddacaa7f9bbd1",
    "TVAE": "63f80a9d10250e8923a50dc817cf48cca819e2de",
    "PrivBayes01": "45602dea50f5ca3ec7c3cd3ab6956548199eba97",
    "PrivBayes1": "8539b05ab8baaf1cf44d525423b43cc175d5d821",
    "PrivBayes5": "bf110ad4dde10cd814902c4ea0f46f1d38c4285b",
}
"""Synthetic tables of SUPPORT2 that the authors of TVineSynth publish, one for each competitor, by git's hashes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One published file.

    Attributes:
        publisher: The page that describes it.
        address: The file itself.
        file: Its name in the folder of files.
        sha256: Of its bytes; None where only the prepared table was at hand when this was written, which is checked
            instead once it is made (`benchmarks.data.prepare`).
        git_blob: SHA-1 that git gives the file in its publisher's repository, which lists it; in place of `sha256`
            where the file itself was not at hand when this was written.
        prepared: Name and checksum of the prepared table; a folder of SKLAR_DATA may hold that one alone.
    """

    publisher: str
    address: str
    file: str
    sha256: str | None = None
    git_blob: str | None = None
    prepared: tuple[str, str] | None = None


def _published_table(name: str, git_blob: str) -> Source:
    """A competitor's table of SUPPORT2, as the authors of TVineSynth publish it."""
    file = f"synth_data_{name}_real_support2_small.csv"
    return Source(
        publisher="https://github.com/ElisabethGriesbauer/T-Vine-Synth",
        address=f"{TVINE_SYNTH}/HEAD/data/synthdata_utility_competitors/{file}",
        file=file,
        git_blob=git_blob,
    )


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
    "texas": Source(
        publisher="https://www.dshs.texas.gov/THCIC/Hospitals/Download.shtm",
        address=f"{COPULA_SHIRLEY}/93e6bf90137082587e69904d1166911dab0f7345/Datasets/texas_hospital.csv",
        file="texas_hospital.csv",
        git_blob="a6f778394a354e47b1f3562c03ad916165c643c5",
    ),
    "privpgd-environment": Source(
        publisher="https://github.com/ElisabethGriesbauer/T-Vine-Synth",
        address=f"{TVINE_SYNTH}/HEAD/privpgd.yml",
        file="privpgd.yml",
        git_blob="c5195e93dc7bed3fed8c9eeb6d1009a091e41c7b",
    ),
    **{f"support2-{name.lower()}": _published_table(name, blob) for name, blob in SUPPORT2_TABLES.items()},
}
"""Adult's checksum is the one that other projects record for the same address; SUPPORT2's is of the copy that the
authors of TVineSynth publish with their code; HMEQ's is of a copy of the file at its address. Texas, PrivPGD's
environment and the tables of SUPPORT2 are listed in their authors' repositories, by whose hashes they are checked; none
was opened when this was written. The state of Texas has terms of use for its discharges: read them first."""


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
    if source.git_blob is not None:
        return checked_blob(path, source.git_blob)
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


def checked_blob(path: Path, git_blob: str) -> Path:
    """The path, if git would store its bytes under this hash."""
    content = path.read_bytes()
    found = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
    if found != git_blob:
        sys.exit(f"{path} is another file: git names it {found}, expected {git_blob}; remove it to have it fetched")
    return path
