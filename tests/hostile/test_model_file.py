"""Model files that were damaged, edited or forged: refused, never run, never half-believed."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sklar
from sklar.errors import ModelFileError, UsageError
from sklar.pipeline import model_file as modelfile
from tests.hostile.checks import QUICK, SCHEMA, names_in, refused, run

Members = dict[str, bytes]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("model") / "m.sklar"
    sklar.fit({"x": [1, 2, 3], "c": ["a", "b", "a"]}, SCHEMA, **QUICK).save(path)
    return path.read_bytes()


def members_of(whole: bytes) -> Members:
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


def packed(members: Members, comment: bytes | None = None) -> bytes:
    """An archive; without a comment, the checksums of manifest and archive are made to fit."""
    if comment is None:
        manifest = json.loads(members["manifest.json"])
        listed = {name: hashlib.sha256(content).hexdigest() for name, content in members.items()}
        listed.pop("manifest.json")
        members = {**members, "manifest.json": json.dumps({**manifest, "members": listed}).encode()}
        comment = hashlib.sha256(members["manifest.json"]).hexdigest().encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
        archive.comment = comment
    return buffer.getvalue()


def write(folder: Path, content: bytes) -> Path:
    (folder / "m.sklar").write_bytes(content)
    return folder / "m.sklar"


def test_forging_itself_is_no_damage(whole: bytes, tmp_path: Path) -> None:
    """The forger's archive of the unchanged members loads, so that what is refused below is refused for its change."""
    model = sklar.load(write(tmp_path, packed(members_of(whole))))
    assert model.sample(5, seed=1).num_rows == 5


def test_bits_flipped_anywhere(whole: bytes, tmp_path: Path) -> None:
    """Refused, or (in bytes of the archive that nothing reads) the very same model."""
    good = sklar.load(write(tmp_path, whole))
    expected, claim = good.sample(20, seed=1), str(good.claim)
    refusals = 0
    for place in range(0, len(whole), max(len(whole) // 250, 1)):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << place % 8
        try:
            found = sklar.load(write(tmp_path, bytes(damaged)))
        except (ModelFileError, UsageError):
            refusals += 1
        else:
            assert found.sample(20, seed=1).equals(expected) and str(found.claim) == claim
    assert refusals > 100


def test_cut_anywhere(whole: bytes, tmp_path: Path) -> None:
    for cut in range(0, len(whole), max(len(whole) // 40, 1)):
        refused(lambda cut=cut: sklar.load(write(tmp_path, whole[:cut])), ModelFileError)


@pytest.mark.parametrize(
    "name", ["schema.toml", "claim.json", "fit.json", "releases.jsonl", "model.json", "arrays/0.npy"]
)
def test_edited_members(name: str, whole: bytes, tmp_path: Path) -> None:
    members = members_of(whole)
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        comment = archive.comment
    members[name] = members[name].replace(b"1", b"2", 1) + b" "
    assert "changed" in refused(lambda: sklar.load(write(tmp_path, packed(members, comment))), ModelFileError)
    fresh = members_of(packed(members))["manifest.json"]  # the manifest made to fit, the comment not
    assert "changed" in refused(
        lambda: sklar.load(write(tmp_path, packed({**members, "manifest.json": fresh}, comment))), ModelFileError
    )


def test_members_added_or_taken_away(whole: bytes, tmp_path: Path) -> None:
    members = members_of(whole)
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        comment = archive.comment
    refused(lambda: sklar.load(write(tmp_path, packed({**members, "evil.py": b"x"}, comment))), ModelFileError)
    for name in members:
        rest = {other: content for other, content in members.items() if other != name}
        refused(lambda rest=rest: sklar.load(write(tmp_path, packed(rest, comment))), ModelFileError)


def _npy(shape: tuple[int, ...]) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return buffer.getvalue() + b"\0" * 80


class Trap:
    """What a pickle would run."""

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return Path.touch, (Path("trapped"),)


def _pickled() -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.array([Trap()], object), allow_pickle=True)
    return buffer.getvalue()


def _call(target: str, fields: str = "{}") -> bytes:
    return f'{{"class": "{target}", "fields": {fields}}}'.encode()


MARGIN = '{"column": "x", "starts": 2, "mass": 3, "size": 4}'
FORGED: dict[str, tuple[str, bytes]] = {
    "deep model": ("model.json", b"[" * 100_000),
    "deep fit": ("fit.json", b"[" * 100_000 + b"]" * 100_000),
    "deep release": ("releases.jsonl", b"[" * 100_000),
    "model null": ("model.json", b"null"),
    "model of another kind": ("model.json", _call("sklar.model.margins.margin:Margin", MARGIN)),
    "a system call": ("model.json", _call("os:system", '{"command": "touch trapped"}')),
    "a function of ours": ("model.json", _call("sklar.model.codec:decode", '{"tree": 1, "arrays": 2}')),
    "a class of another room": ("model.json", _call("sklar.schema.columns:Ignore")),
    "a dotted way out": ("model.json", _call("sklar.model.codec:importlib.import_module", '{"name": "this"}')),
    "unknown class": ("model.json", _call("sklar.model.nope:Nope")),
    "wrong fields": ("model.json", _call("sklar.model.margins.margin:Margin", '{"a": 1}')),
    "no such array": ("model.json", b'{"array": 99}'),
    "array by name": ("model.json", b'{"array": "x"}'),
    "pickle": ("arrays/0.npy", _pickled()),
    "no array": ("arrays/0.npy", b"junk"),
    "72 TiB": ("arrays/0.npy", _npy((10**13,))),
    "negative size": ("arrays/0.npy", _npy((-1,))),
    "overflowing size": ("arrays/0.npy", _npy((2**62, 2**62))),
    "another array": ("arrays/0.npy", _npy((10,))),
    "schema that is none": ("schema.toml", b"x"),
    "another schema": ("schema.toml", b'[columns.q]\nkind = "integer"\nlower = 0\nupper = 3\n'),
    "same name, another size": ("schema.toml", b'[columns.x]\nkind = "boolean"\n[columns.c]\nkind = "boolean"\n'),
    "schema not UTF-8": ("schema.toml", b"\xff"),
    "claim null": ("claim.json", b"null"),
    "claim empty": ("claim.json", b"{}"),
    "digits": ("fit.json", b"1" * 10_000),
}


@pytest.mark.parametrize("case", FORGED)
def test_forged_members_with_fitting_checksums(
    case: str, whole: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    name, content = FORGED[case]
    path = write(tmp_path, packed({**members_of(whole), name: content}))
    refused(lambda: sklar.load(path), ModelFileError)
    assert names_in(tmp_path) == {"m.sklar"}


@pytest.mark.parametrize("manifest", [
    b"", b"null", b"[]", b"{}", b"[" * 100_000, b'{"format": "sklar-model"}',
    b'{"format": "other", "version": 1, "members": {}}', b'{"format": "sklar-model", "version": 1, "members": 5}',
    b'{"format": "sklar-model", "version": 99, "members": {}}',
    b'{"format": "sklar-model", "version": "x", "members": {}}',
], ids=lambda m: m[:50].decode())  # fmt: skip
def test_manifests_that_are_none(manifest: bytes, whole: bytes, tmp_path: Path) -> None:
    members = {**members_of(whole), "manifest.json": manifest}
    comment = hashlib.sha256(manifest).hexdigest().encode()
    refused(lambda: sklar.load(write(tmp_path, packed(members, comment))), ModelFileError)


def test_a_bomb_is_not_unpacked(whole: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = packed({**members_of(whole), "bomb": b"\0" * 50_000_000})
    assert len(bomb) < 200_000
    monkeypatch.setattr(modelfile, "MAX_BYTES", 1 << 25)
    monkeypatch.setattr(zipfile.ZipFile, "read", None)
    assert "unpacks" in refused(lambda: sklar.load(write(tmp_path, bomb)), ModelFileError)


def test_a_bomb_that_lies_about_its_size(whole: bytes, tmp_path: Path) -> None:
    content = bytearray(packed({**members_of(whole), "bomb": b"\0" * 50_000_000}))
    size = (50_000_000).to_bytes(4, "little")
    for _ in range(content.count(size)):
        place = content.index(size)
        content[place : place + 4] = (10).to_bytes(4, "little")
    refused(lambda: sklar.load(write(tmp_path, bytes(content))), ModelFileError)


@pytest.mark.parametrize("path", [None, 5, "", ".", "a\0b", "no.sklar", "/dev/null", "/dev/zero"], ids=repr)
def test_places_that_are_no_model_files(path: Any) -> None:
    refused(lambda: sklar.load(path), UsageError)


def test_the_command_refuses_them_too(whole: bytes, tmp_path: Path) -> None:
    path = write(tmp_path, packed({**members_of(whole), "model.json": b"[" * 100_000}))
    for words in (["inspect", path], ["sample", path, "-n", 5, "-o", tmp_path / "out.csv"]):
        ended = run(*words)
        assert ended.code == 1 and not ended.out
        assert ended.err.startswith("Error: ") and ended.err.count("\n") == 1 and "unexpected" not in ended.err
    assert names_in(tmp_path) == {"m.sklar"}
