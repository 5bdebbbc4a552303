"""The file of a page: one scope of distinct names, a policy by hash, hashes of all parts, and grids that unpack."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections import Counter
from importlib.resources import files

import numpy as np
import pytest

from sklar.page.document import build_page
from sklar.page.embedded import read_block, read_facts
from sklar.page.program import ENTRY, join_program, list_declared, order_modules, read_static
from sklar.pipeline.release_page.described_rules import RULES
from sklar.pipeline.release_page.facts import pack_grid
from sklar.pipeline.release_page.pictures import compute_signs, compute_strengths
from sklar.schema.numbers import Integer, Real

FACTS = {"a": ["</script><b>", "ä"], "x": 0.1}


def page() -> bytes:
    return build_page("a <b>", FACTS, b"model", ledger=b"ledger", sign=lambda manifest: b"signed " + manifest[:1])


def test_every_module_is_in_the_program_and_no_name_is_declared_twice() -> None:
    modules = {entry.name.removesuffix(".mjs") for entry in files("sklar.page").joinpath("static").iterdir()}
    names = order_modules(ENTRY)
    assert set(names) == {name for name in modules if not name.endswith(".css")}
    declared = Counter(name for module in names for name in list_declared(read_static(f"{module}.mjs")))
    assert [name for name, count in declared.items() if count > 1] == []
    assert "startPage" in declared and "BLOCK_ROWS" in declared and "M0" in declared
    several = r"^(?:const|let) [A-Za-z_$]+ = [^(\[{;]*, [A-Za-z_$]+ = "  # of which only the first would be listed
    assert re.findall(several, join_program(), re.MULTILINE) == [] and re.match(several, "const A = 6.6, B = 5.6;")
    assert not re.search(r"^(import|export) ", join_program(), re.MULTILINE)


def test_a_name_in_two_modules_is_seen() -> None:
    assert list_declared("export const one = 1;\nconst [two, three] = x;\nexport async function four() {}\n") == [
        "one", "two", "three", "four",
    ]  # fmt: skip


def test_the_policy_names_the_only_script_and_the_only_style() -> None:
    text = page().decode()
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None and "unsafe" not in policy[1] and "default-src 'none'" in policy[1]
    script, style = (re.search(pattern, text, re.DOTALL) for pattern in (PROGRAM, r"<style>(.*?)</style>"))
    for part in (script, style):
        assert part is not None
        digest = base64.b64encode(hashlib.sha256(part[1].encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy[1]
    assert not re.search(r'(src|href)="|https?://(?!www\.w3\.org)', text.replace(read_static("dom.mjs"), ""))


PROGRAM = r'<script type="module" id="program">(.*?)</script>'


def test_all_parts_come_back_and_have_their_hashes() -> None:
    made = page()
    assert read_facts(made) == FACTS and read_block(made, "model") == b"model"
    manifest = json.loads(read_block(made, "manifest"))
    assert manifest["members"]["model"] == hashlib.sha256(b"model").hexdigest()
    assert set(manifest["members"]) == {"program", "style", "facts", "model", "ledger", "document"}
    assert read_block(made, "signature") == b"signed {" and made == page()
    assert "a &lt;b&gt;" in made.decode()


@pytest.mark.parametrize(
    "column",
    [Integer(0, 90), Integer(-5, 3_000_000), Integer(0, 1000, step=50), Real(0, 1),
     Real(-3.3, 1e6, bins=77, atoms=[0.1]), Real(0, 10, decimals=2), Real(0, 100, step=0.25),
     Real(0, 5, edges=[0, 0.7, 3.1, 5])],
    ids=repr,
)  # fmt: skip
def test_grids_unpack_to_the_same_cells(column: Integer | Real) -> None:
    packed, starts = pack_grid(column.grid), column.grid.starts
    if column.grid.integer:
        steps = [step for step, count in packed["runs"] for _ in range(count)]
        np.testing.assert_array_equal(np.cumsum([packed["first"], *steps]), starts)
    elif "starts" in packed:
        np.testing.assert_array_equal(packed["starts"], starts)
    assert len(json.dumps(packed)) < 20 * len(starts) + 200


def test_strengths_are_those_of_a_gaussian_copula_and_vanish_without_dependence() -> None:
    rng = np.random.default_rng(1)
    z = rng.standard_normal((40_000, 3))
    z[:, 1] = 0.8 * z[:, 0] + 0.6 * z[:, 1]
    groups = [np.argsort(np.argsort(column)) * 10 // len(column) for column in z.T]
    found = compute_strengths(groups)
    assert abs(found[0, 1] - 0.8) < 0.05 and found[0, 2] < 0.05


def test_independent_columns_are_not_shown_as_dependent() -> None:
    found = compute_strengths(list(np.random.default_rng(2).integers(0, 2, (60, 5_000))))
    assert np.count_nonzero(np.triu(found, 1)) < 12  # 1,770 pairs, of which 0.1% are significant by chance


def test_the_sign_of_a_dependence_is_that_of_values_which_are_present() -> None:
    """Storms have a category from a wind of 64 on: missing ones come last in the codes, at the lowest winds."""
    wind = np.random.default_rng(3).integers(0, 150, 5_000)
    category = np.where(wind < 64, 5, np.minimum((wind - 64) // 20, 4))
    columns = [Integer(0, 149), Integer(1, 5, nullable=True), Integer(0, 149)]
    found = compute_signs(columns, np.stack([wind, category, 149 - wind], axis=1))
    assert found[0, 1] == found[1, 0] == 1 and found[0, 2] == -1 and found[1, 2] == -1


def test_each_kind_of_rule_is_checked_by_the_program() -> None:
    kinds = re.findall(r"^  (\w+)\(rule, table\)", read_static("rules.mjs"), re.MULTILINE)
    assert {f"{kind.__name__}".lower() for kind in RULES} == {kind.replace("_", "") for kind in kinds}
