"""A bundle holds a whole release, is the same each time, and any byte that is changed in it is found and named."""

from __future__ import annotations

import base64
import hashlib
import html
import io
import json
import os
import stat
import tracemalloc
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import mlcroissant
import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

import sklar
from sklar.accounting.ledger.records import GENESIS, seal_entry
from sklar.cli.main import app
from sklar.errors import LedgerError, OutputError, UsageError
from sklar.pipeline.bundle.archive import MANIFEST, SIGNATURE, BundleError, archive_pieces, manifest_of, read_archive
from sklar.pipeline.bundle.documents import claim_page
from sklar.pipeline.bundle.keys import make_signature
from sklar.pipeline.model_file import model_digest, read_model
from sklar.report.page import NOTICE
from tests.contracts.tables import people, schema

PARTS = {
    "manifest.json", "signature.json", "README.txt", "claim.html", "claim.json", "dictionary.csv", "schema.toml",
    "versions.json", "croissant.json", "registry.json", "model.sklar", "synthetic.csv", "synthetic.parquet",
    "ledger.jsonl",
}  # fmt: skip


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table, its ledger, a model, keys and a signed bundle."""
    folder = tmp_path_factory.mktemp("release")
    people(300).to_csv(folder / "t.csv", index=False)
    sklar.Ledger.create(folder / "t.ledger", "people", 3, 3e-9)
    for name in ("m", "n"):
        fitted = sklar.fit(folder / "t.csv", schema(), method="independent", epsilon=1.0, ledger=folder / "t.ledger")
        fitted.save(folder / f"{name}.sklar")
    sklar.make_key(folder / "k")
    sklar.make_key(folder / "other")
    sklar.bundle(folder / "m.sklar", folder / "b.zip", rows=60, seed=5, ledger=folder / "t.ledger", sign=folder / "k")
    return folder


def members(file: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(parts: Mapping[str, bytes]) -> bytes:
    return b"".join(archive_pieces(parts))


def repacked(place: Path, changed: Mapping[str, bytes | None], key: str | None = "k") -> Path:
    """A bundle with other members, whose manifest, and signature if a key is named, were made anew."""
    whole = members(place / "b.zip")
    facts = {k: v for k, v in json.loads(whole[MANIFEST]).items() if k not in ("members", "format", "version")}
    rest = {**whole, **changed}
    kept = {name: c for name, c in rest.items() if c is not None and name not in (MANIFEST, SIGNATURE)}
    manifest = manifest_of(kept, facts)
    signed = {} if key is None else {SIGNATURE: make_signature(manifest, place / key)}
    (place / "made.zip").write_bytes(packed({MANIFEST: manifest, **signed, **kept}))
    return place / "made.zip"


def retold(place: Path, **facts: Any) -> Path:
    """A bundle whose manifest tells other things, signed by the custodian's own key."""
    whole = members(place / "b.zip")
    kept = {name: content for name, content in whole.items() if name not in (MANIFEST, SIGNATURE)}
    manifest = json.loads(whole[MANIFEST]) | facts
    told = manifest_of(kept, {k: v for k, v in manifest.items() if k not in ("members", "format", "version")})
    (place / "made.zip").write_bytes(packed({MANIFEST: told, SIGNATURE: make_signature(told, place / "k"), **kept}))
    return place / "made.zip"


def remodelled(place: Path, name: str, content: bytes) -> bytes:
    """The model file of the bundle with another member, and all hashes made anew."""
    inside = members(place / "m.sklar") | {name: content}
    listing = json.loads(inside.pop("manifest.json"))
    listing["members"] = {one: hashlib.sha256(found).hexdigest() for one, found in inside.items()}
    inside = {"manifest.json": json.dumps(listing, sort_keys=True).encode(), **inside}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for one, found in inside.items():
            archive.writestr(zipfile.ZipInfo(one, (1980, 1, 1, 0, 0, 0)), found, zipfile.ZIP_DEFLATED)
        archive.comment = hashlib.sha256(inside["manifest.json"]).hexdigest().encode()
    return buffer.getvalue()


def wrong(found: sklar.results.Verified) -> set[str]:
    assert not found.ok
    return {check.part for check in found.checks if check.ok is False}


def test_a_bundle_holds_the_release_and_is_verified(place: Path) -> None:
    assert set(members(place / "b.zip")) == PARTS
    found = sklar.verify(place / "b.zip", key=place / "k.pub")
    assert found.ok and all(check.ok for check in found.checks), str(found)
    assert sklar.verify(place / "b.zip")[SIGNATURE].ok is None
    # The second fit of the ledger is not in the extract of the first.
    assert b'"type":"open"' in members(place / "b.zip")["ledger.jsonl"]
    assert members(place / "b.zip")["ledger.jsonl"].count(b'"type":"open"') == 1


def test_the_same_release_gives_the_same_bytes(place: Path) -> None:
    again = sklar.bundle(
        sklar.load(place / "m.sklar"), place / "b.again.zip", rows=60, seed=5, ledger=place / "t.ledger",
        sign=place / "k", name="b",
    )  # fmt: skip
    assert again.read_bytes() == (place / "b.zip").read_bytes()


def test_what_is_inside_can_be_used(place: Path) -> None:
    inside = members(place / "b.zip")
    table = pyarrow.parquet.read_table(io.BytesIO(inside["synthetic.parquet"]))
    assert table.num_rows == 60 and table.column_names == list(schema().names)
    claim = json.loads(inside["claim.json"])
    page, stated = html.unescape(inside["claim.html"].decode()), sklar.load(place / "m.sklar").claim
    assert claim["epsilon"] == 1.0 and claim["claim"] == str(stated)
    assert all(text in page for text in (stated.summary, *(text for _, text in stated.basis), "For the custodian"))
    record = json.loads(inside["registry.json"])
    assert record["guarantee"]["epsilon"] == 1.0 and record["privacy_unit"]["neighbours"] == "add-remove"
    assert inside["dictionary.csv"].decode().splitlines()[1].startswith("age,integer")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of rdflib, by its own hand
def test_the_metadata_are_croissant(place: Path, tmp_path: Path) -> None:
    for name, content in members(place / "b.zip").items():
        (tmp_path / name).write_bytes(content)
    data = mlcroissant.Dataset(tmp_path / "croissant.json")
    assert not data.metadata.ctx.issues.errors
    first = next(iter(data.records("rows")))
    assert set(first) == {f"rows/{name}" for name in schema().names}


def test_every_changed_byte_is_found_and_its_part_named(place: Path, tmp_path: Path) -> None:
    content = (place / "b.zip").read_bytes()
    rng = np.random.default_rng(0)
    ends = len(content) - 1200 + np.arange(60) * 20
    heads = np.arange(60)
    for at in [*rng.integers(0, len(content), 380).tolist(), *ends.tolist(), *heads.tolist()]:
        changed = bytearray(content)
        changed[at] ^= 1 << int(rng.integers(8))
        (tmp_path / "changed.zip").write_bytes(bytes(changed))
        found = sklar.verify(tmp_path / "changed.zip", key=place / "k.pub")
        assert not found.ok, at
        parts = {check.part for check in found.checks if check.ok is False}
        assert parts <= PARTS | {"directory", "?", "file"} and parts, (at, parts)


@pytest.mark.slow
def test_parts_of_another_release_are_found_though_all_hashes_and_the_signature_are_made_anew(place: Path) -> None:
    other = sklar.bundle(place / "n.sklar", place / "n.zip", rows=60, seed=5)
    theirs = members(other)
    rows = {name: theirs[name] for name in ("synthetic.csv", "synthetic.parquet")}
    assert wrong(sklar.verify(repacked(place, dict(rows)))) == {"rows"}
    for name in ("claim.html", "claim.json"):
        forged: dict[str, bytes | None] = {name: theirs[name].replace(b"epsilon", b"epsilo_")}
        found = sklar.verify(repacked(place, forged))
        assert wrong(found) == {"documents"} and name in found["documents"].says
    assert "ledger" in wrong(sklar.verify(repacked(place, {"model.sklar": theirs["model.sklar"]})))
    assert wrong(sklar.verify(repacked(place, {"model.sklar": None}))) == {"model.sklar"}
    assert wrong(sklar.verify(repacked(place, {"extra.txt": b"hello"}))) == {"extra.txt"}


def test_a_missing_a_foreign_and_a_wrong_signature_are_told(place: Path) -> None:
    assert wrong(sklar.verify(repacked(place, {}, key=None), key=place / "k.pub")) == {SIGNATURE}
    assert sklar.verify(repacked(place, {}, key=None))[SIGNATURE].ok is None
    assert wrong(sklar.verify(repacked(place, {}, key="other"), key=place / "k.pub")) == {SIGNATURE}
    whole = members(place / "b.zip")
    whole[SIGNATURE] = make_signature(b"another manifest", place / "k")
    (place / "mixed.zip").write_bytes(packed(whole))
    assert wrong(sklar.verify(place / "mixed.zip")) == {SIGNATURE}


def zipped(path: Path, entries: list[tuple[str, bytes]], how: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", how) as archive:
        for name, content in entries:
            archive.writestr(zipfile.ZipInfo(name), content, how)
    return path


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_hostile_archives_are_refused_and_nothing_is_written(place: Path, tmp_path: Path) -> None:
    whole = members(place / "b.zip")
    entries = list(whole.items())
    before = sorted(os.listdir(tmp_path.parent))
    newer = {**json.loads(whole[MANIFEST]), "version": 99}
    cases: dict[str, tuple[Path, str]] = {
        "bomb": (zipped(tmp_path / "bomb.zip", [("manifest.json", b"0" * 10**8)], zipfile.ZIP_DEFLATED), MANIFEST),
        "out": (zipped(tmp_path / "out.zip", [*entries, ("../evil.txt", b"x")]), "../evil.txt"),
        "twice": (zipped(tmp_path / "twice.zip", [*entries, ("model.sklar", b"x")]), "model.sklar"),
        "none": (zipped(tmp_path / "none.zip", [("hello.txt", b"x")]), MANIFEST),
        "newer": (tmp_path / "newer.zip", MANIFEST),
        "short": (tmp_path / "short.zip", "directory"),
    }
    (tmp_path / "newer.zip").write_bytes(packed({**whole, MANIFEST: json.dumps(newer).encode()}))
    (tmp_path / "short.zip").write_bytes((place / "b.zip").read_bytes()[:5000])
    for name, (file, part) in cases.items():
        assert wrong(sklar.verify(file)) == {part}, name
    assert sorted(os.listdir(tmp_path.parent)) == before and not (tmp_path / "evil.txt").exists()


@pytest.mark.parametrize(
    "facts",
    [{"rows": 10**12}, {"rows": 10**7}, {"rows": 60.0}, {"rows": "60"}, {"rows": -1}, {"seed": "5"}, {"name": ["b"]},
     {"seed": 1e300}, {"rows": None}],
    ids=str,
)  # fmt: skip
def test_a_manifest_that_asks_for_too_much_is_not_followed(place: Path, facts: dict[str, Any]) -> None:
    assert wrong(sklar.verify(retold(place, **facts), key=place / "k.pub")) == {MANIFEST}


@pytest.mark.parametrize("name", ["bomb", "nan", "infinite", "deep", "escape", "pickled", "shape"])
def test_hostile_models_are_refused(place: Path, name: str) -> None:
    claim = members(place / "m.sklar")["claim.json"]
    pickled, header = io.BytesIO(), io.BytesIO()
    np.save(pickled, np.array([{}], dtype=object), allow_pickle=True)
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (10**11,)})
    member, content = {
        "bomb": ("arrays/99.npy", bytes(10**8)),
        "nan": ("claim.json", claim.replace(b'"epsilon": 1.0', b'"epsilon": NaN')),
        "infinite": ("claim.json", claim.replace(b'"epsilon": 1.0', b'"epsilon": 1e400')),
        "deep": ("fit.json", b'{"a":' * 100_000 + b"1" + b"}" * 100_000),
        "escape": ("../../evil", b"x"),
        "pickled": ("arrays/0.npy", pickled.getvalue()),
        "shape": ("arrays/0.npy", header.getvalue()),
    }[name]
    assert name not in ("nan", "infinite") or content != claim
    found = sklar.verify(repacked(place, {"model.sklar": remodelled(place, member, content)}), key=place / "k.pub")
    assert wrong(found) <= {"model.sklar", "file"}


def test_a_release_that_unpacks_to_more_than_its_shape_is_refused(place: Path) -> None:
    lines = members(place / "m.sklar")["releases.jsonl"].decode().splitlines()
    entry = json.loads(lines[0])
    entry["releases"][0]["data"] = base64.b64encode(zlib.compress(bytes(10**8))).decode()
    content = "\n".join([json.dumps(entry, separators=(",", ":"), sort_keys=True), *lines[1:]]).encode()
    model = remodelled(place, "releases.jsonl", content)
    tracemalloc.start()
    assert wrong(sklar.verify(repacked(place, {"model.sklar": model}))) == {"model.sklar"}
    assert tracemalloc.get_traced_memory()[1] < 5 * 10**7
    tracemalloc.stop()


@pytest.mark.slow
def test_garbage_bombs_and_pages_for_the_custodian_among_the_parts_are_named(place: Path) -> None:
    table = pyarrow.parquet.read_table(io.BytesIO(members(place / "b.zip")["synthetic.parquet"])).slice(0, 1)
    long = io.BytesIO()
    zeros = pyarrow.array(np.zeros(10**6, np.int8))
    pyarrow.parquet.write_table(pyarrow.table(dict.fromkeys(table.column_names, zeros)), long)
    ledger = members(place / "b.zip")["ledger.jsonl"].splitlines()
    entries = [{k: v for k, v in json.loads(line).items() if k not in ("prev", "sha256")} for line in ledger]
    for changed, part in (
        ({"synthetic.parquet": long.getvalue()}, "rows"),
        ({"synthetic.parquet": b"PAR1" + bytes(99) + b"PAR1"}, "rows"),
        ({"report.html": b"<!doctype html>" + NOTICE.encode()}, "report.html"),
        ({"ledger.jsonl": _sealed([entry | {"remark": "Ann is 41"} for entry in entries])}, "ledger"),
        ({"ledger.jsonl": _sealed([*entries[:-1], entries[-1] | {"time": "Ann is 41"}])}, "ledger"),
    ):
        assert part in wrong(sklar.verify(repacked(place, changed))), changed.keys()


def _sealed(entries: list[dict[str, Any]]) -> bytes:
    previous, lines = GENESIS, []
    for entry in entries:
        line, previous = seal_entry(entry, previous)
        lines.append(line)
    return b"".join(lines)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.zip")
    with pytest.raises(UsageError, match="not a regular file"):
        sklar.verify(tmp_path / "x.zip")


def test_keys_are_private_and_never_overwritten(place: Path, tmp_path: Path) -> None:
    private, public = sklar.make_key(tmp_path / "c.key")
    assert stat.S_IMODE(private.stat().st_mode) == 0o600 and public.name == "c.key.pub"
    with pytest.raises(OutputError, match="never overwritten"):
        sklar.make_key(tmp_path / "c.key")
    for key in (place / "t.csv", public):
        with pytest.raises(UsageError, match="private key"):
            sklar.bundle(place / "m.sklar", tmp_path / "x.zip", rows=10, sign=key)
    with pytest.raises(UsageError, match="public key"):
        sklar.verify(place / "b.zip", key=private)
    assert not (tmp_path / "x.zip").exists()


def test_bad_requests_write_nothing(place: Path, tmp_path: Path) -> None:
    sklar.Ledger.create(tmp_path / "other.ledger", "others", 3, 3e-9)
    with pytest.raises(LedgerError, match="another ledger"):
        sklar.bundle(place / "m.sklar", tmp_path / "x.zip", rows=10, ledger=tmp_path / "other.ledger")
    with pytest.raises(UsageError, match="zip"):
        sklar.bundle(place / "m.sklar", tmp_path / "x.tar", rows=10)
    (tmp_path / "r.custodian.html").write_text("real rows")
    with pytest.raises(UsageError, match="custodian"):
        sklar.bundle(place / "m.sklar", tmp_path / "x.zip", rows=10, report=tmp_path / "r.custodian.html")
    (tmp_path / "r.html").write_text(f"<!doctype html><p>{NOTICE}</p>")
    for page in (tmp_path / "r.html", place / "t.csv"):
        with pytest.raises(UsageError, match="public report of this model"):
            sklar.bundle(place / "m.sklar", tmp_path / "x.zip", rows=10, report=page)
    assert not list(tmp_path.glob("x.*"))


@pytest.mark.slow
def test_a_report_goes_along_and_is_made_again_from_the_model(place: Path, tmp_path: Path) -> None:
    sklar.load(place / "m.sklar").report(tmp_path / "p.html")
    sklar.bundle(place / "m.sklar", tmp_path / "x.zip", rows=10, report=tmp_path / "p.html")
    found = sklar.verify(tmp_path / "x.zip")
    assert found.ok and found["report.html"].ok and "byte for byte" in found["report.html"].says
    page = (tmp_path / "p.html").read_text()
    digest = model_digest(read_model(place / "m.sklar"))[:16]
    for forged in (
        page.replace("</body>", "<script>alert(1)</script></body>"),
        page.replace("epsilon = 1,", "epsilon = 0.01,"),
    ):
        assert forged != page and digest in forged
        assert wrong(sklar.verify(repacked(place, {"report.html": forged.encode()}))) == {"report.html"}
    (tmp_path / "p.html").write_text(f"<!doctype html><p>What to expect of other rows. {digest}</p>")
    with pytest.raises(UsageError, match="not the public report"):
        sklar.bundle(place / "m.sklar", tmp_path / "y.zip", rows=10, report=tmp_path / "p.html")


def test_the_page_of_a_claim_rounds_no_bound_down(place: Path) -> None:
    stored = read_model(place / "m.sklar")
    page = claim_page(replace(stored, claim=replace(stored.claim, epsilon=1.0000004, delta=1.0004e-9)))
    assert "<td>1.00001</td>" in page and "<td>1.01e-9</td>" in page


def test_a_bundle_is_a_zip_as_others_write_it(tmp_path: Path) -> None:
    parts = {"manifest.json": b"{}", "a.txt": b"hello", "größe.csv": b"", "b.bin": bytes(3 * 2**20 + 5)}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, content in parts.items():
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.create_system, info.external_attr = 3, 0o644 << 16
            archive.writestr(info, content)
    assert packed(parts) == buffer.getvalue()
    for name, content in parts.items():
        (tmp_path / name).write_bytes(content)
    assert b"".join(archive_pieces({name: tmp_path / name for name in parts})) == buffer.getvalue()


@pytest.mark.slow
def test_a_bundle_is_read_in_bounded_memory(place: Path, tmp_path: Path) -> None:
    """A member may be as large as the manifest lists it: it is read in pieces, and never whole."""
    whole = members(place / "b.zip")
    kept = {name: content for name, content in whole.items() if name not in (MANIFEST, SIGNATURE)}
    kept["synthetic.csv"] = kept["synthetic.csv"] + bytes(10**8)
    facts = {k: v for k, v in json.loads(whole[MANIFEST]).items() if k not in ("members", "format", "version")}
    with (tmp_path / "large.zip").open("wb") as file:
        file.writelines(archive_pieces({MANIFEST: manifest_of(kept, facts), **kept}))
    tracemalloc.start()
    found = read_archive(tmp_path / "large.zip")
    assert found.listed["synthetic.csv"].size > 10**8 and tracemalloc.get_traced_memory()[1] < 10**7
    assert wrong(sklar.verify(tmp_path / "large.zip")) == {"rows"}
    assert tracemalloc.get_traced_memory()[1] < 5 * 10**7
    tracemalloc.stop()


def test_no_more_is_read_than_the_manifest_lists(place: Path, tmp_path: Path) -> None:
    """A member that is larger than listed, and a manifest beyond any, are refused by their headers."""
    whole = members(place / "b.zip")
    longer = packed({**whole, "synthetic.csv": whole["synthetic.csv"] + bytes(10**7)})
    (tmp_path / "longer.zip").write_bytes(longer)
    found = sklar.verify(tmp_path / "longer.zip")
    assert wrong(found) == {"synthetic.csv"} and "than the manifest lists" in found["synthetic.csv"].says
    (tmp_path / "wide.zip").write_bytes(packed({**whole, MANIFEST: whole[MANIFEST] + b" " * 2**21}))
    assert wrong(sklar.verify(tmp_path / "wide.zip")) == {MANIFEST}
    with (tmp_path / "sparse.zip").open("wb") as file:
        file.truncate(2**40)
    tracemalloc.start()
    assert wrong(sklar.verify(tmp_path / "sparse.zip")) == {"archive"}
    assert tracemalloc.get_traced_memory()[1] < 10**6
    tracemalloc.stop()


def test_a_manifest_or_a_table_that_says_more_is_found(place: Path, tmp_path: Path) -> None:
    whole = members(place / "b.zip")
    more = {**json.loads(whole[MANIFEST]), "guarantee": "epsilon = 0.001"}
    kept = {name: content for name, content in whole.items() if name not in (MANIFEST, SIGNATURE)}
    facts = {k: v for k, v in more.items() if k not in ("members", "format", "version")}
    (tmp_path / "more.zip").write_bytes(packed({MANIFEST: manifest_of(kept, facts), **kept}))
    assert wrong(sklar.verify(tmp_path / "more.zip")) == {MANIFEST}
    table = pyarrow.parquet.read_table(io.BytesIO(whole["synthetic.parquet"]))
    sink = io.BytesIO()
    pyarrow.parquet.write_table(table.replace_schema_metadata({"note": "Ann is 41"}), sink)
    assert "rows" in wrong(sklar.verify(repacked(place, {"synthetic.parquet": sink.getvalue()})))


def test_nothing_of_the_rows_is_in_a_bundle_but_what_was_released(tmp_path: Path) -> None:
    table = people(300)
    table["region"] = table["region"].astype(object)
    table.loc[0, "region"] = "canary-region"
    facts = sklar.Schema({**dict(schema()), "region": sklar.Category(["north", "south", "east", "west"], other="else")})
    model: Any = sklar.fit(table, facts, method="independent", epsilon=50.0)
    sklar.bundle(model, tmp_path / "b.zip", rows=300)
    for name, content in members(tmp_path / "b.zip").items():
        assert b"canary" not in content, name


def test_the_commands_make_sign_and_check(place: Path, tmp_path: Path) -> None:
    run = CliRunner().invoke
    assert run(app, ["key", str(tmp_path / "c.key")]).exit_code == 0
    made = run(app, ["bundle", str(place / "m.sklar"), "-o", str(tmp_path / "p.release.zip"), "-n", "50", "--ledger",
                     str(place / "t.ledger"), "--sign", str(tmp_path / "c.key")])  # fmt: skip
    assert made.exit_code == 0, made.output
    checked = run(app, ["verify", str(tmp_path / "p.release.zip"), "--key", str(tmp_path / "c.key.pub"), "--json"])
    assert checked.exit_code == 0 and json.loads(checked.stdout)["ok"]


def test_no_document_says_that_sampled_rows_are_of_nobody(tmp_path: Path) -> None:
    """Of a table with few values nearly every sampled row equals a real one: what is said must be true of it, too."""
    table = people(300)[["sex", "region"]]
    facts = sklar.Schema({name: schema()[name] for name in table})
    model = sklar.fit(table, facts, method="independent", epsilon=20.0)
    model.report(tmp_path / "p.public.html")
    sklar.bundle(model, tmp_path / "b.zip", rows=100, report=tmp_path / "p.public.html")
    whole = members(tmp_path / "b.zip")
    real, drawn = table.astype(str).agg("|".join, axis=1), whole["synthetic.csv"].decode().splitlines()[1:]
    assert len({row.replace(",", "|") for row in drawn} & set(real)) > 3
    for name in ("README.txt", "croissant.json", "report.html"):
        text = whole[name].decode()
        assert "may equal" in text and "obody" not in text.split("may equal")[0], name
        assert "o synthetic row is" not in text, name


def test_every_changed_bit_of_a_small_archive_is_found_and_its_part_named(tmp_path: Path) -> None:
    parts = {"a.txt": b"hello", "b.csv": b"x,y\n"}
    whole = packed({MANIFEST: manifest_of(parts, {"name": "b"}), **parts})
    for at in range(8 * len(whole)):
        changed = bytearray(whole)
        changed[at // 8] ^= 1 << at % 8
        (tmp_path / "x.zip").write_bytes(bytes(changed))
        with pytest.raises(BundleError) as caught:
            read_archive(tmp_path / "x.zip")
        assert caught.value.part in {MANIFEST, "directory", *parts}, (at, caught.value.part)


@pytest.mark.slow
def test_the_interactive_page_is_part_of_a_bundle_and_another_one_is_found(place: Path) -> None:
    paged = place / "paged.zip"
    done = CliRunner().invoke(
        app,
        ["bundle", str(place / "m.sklar"), "-o", str(paged), "-n", "60", "--ledger", str(place / "t.ledger"), "--page"],
    )
    assert done.exit_code == 0, done.output
    found = sklar.verify(paged)
    assert found.ok and found["page.html"].ok and "byte for byte" in found["page.html"].says
    page = members(paged)["page.html"]
    forged = page.replace(b"</body>", b"<p>Epsilon is 0.1.</p></body>")
    assert forged != page
    assert wrong(sklar.verify(repacked(place, {"page.html": forged}))) == {"page.html"}
