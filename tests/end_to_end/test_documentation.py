"""Every command block of the README and the documentation is run as it stands, page by page, in one folder a page."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sklar.lab.attacks.attribute_fits import ATTRIBUTE_PROFILES, AttributeProfile
from sklar.lab.attacks.shadow import SHADOW_PROFILES, ShadowProfile
from tests.tiers import slow_unless

ROOT = Path(__file__).parents[2]
PAGES = {path.name: path for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]}
OUTPUT, FORMULA = "what a command above shows", "a formula, or the form of a command"
NOT_RUN = {
    ("README.md", "make demo"): "sets up an environment and runs all tests; `sklar demo` has tests in test_demo.py",
    ("README.md", "sklar synth people.csv -e 1 -o"): "needs more rows; tests/pipeline/test_no_schema.py runs it",
    ("README.md", "Left: one more fit"): OUTPUT,
    ("README.md", "step  label"): OUTPUT,
    ("benchmark.md", "python -m benchmarks.open fetch"): "downloads packages; test_open_benchmark.py runs the parts",
    ("compare.md", "command TRAIN.parquet"): FORMULA,
    ("databases.md", "export PGPASSWORD"): "needs a server; tests/rows/sources/databases starts one",
    ("gaussian.md", "python -m benchmarks.dpc adult"): "hours of work on tables that have to be downloaded",
    ("epsilon.md", "e^epsilon p"): FORMULA,
    ("inference.md", "model.estimate("): "takes twenty fits; tests/pipeline/estimation asks such questions",
    ("inference.md", "T = V +"): FORMULA,
    ("other-tools.md", "import sklar  # SDV"): "needs SDV; tests/pipeline/test_dropin.py runs such a script",
    (
        "other-tools.md",
        "import sklar  # SmartNoise",
    ): "needs more rows; tests/pipeline/test_dropin.py runs such a script",
    ("other-tools.md", "import sklar\nfrom sdgym"): "needs SDGym; tests/pipeline/test_other_packages.py runs it",
    (
        "other-tools.md",
        "import sklar\nfrom synthcity",
    ): "needs synthcity; as above",
    ("other-tools.md", "sklar mcp"): "stays until its client goes; tests/pipeline/test_agents.py is one",
    ("privacy.md", "P(M(D) in S)"): FORMULA,
    ("schema.md", "sklar synth export.csv -e 1"): "needs more rows; tests/pipeline/test_no_schema.py runs it",
    ("scale.md", "model = sklar.fit(spark_frame"): "needs Java; tests/rows/spark fits frames of Spark",
    ("scale.md", "sklar fit people.parquet --spark"): "needs a cluster; tests/rows/spark fits with a local one",
    ("scale.md", "time = start"): FORMULA,
    ("studio.md", "pip install"): "stays until it is interrupted; tests/page walks through it in a browser",
    ("vine.md", "KL(p || m) + sum_k"): "a formula",
    ("vine.md", "1 / c = sum_k"): "a formula",
    ("vine.md", "prior = sklar.Prior("): "needs tables of another year; tests/pipeline/test_prior.py fits with such",
}
"""Every block that is not run, by its page and how it begins, and why not."""
PEER = "benchmarks/peers/run dpmm mst"
FEW = "-m independent -e 1 --folds 2 --jobs 1 --metrics tvd2"
SMALLER = {
    "README.md": {
        "10_000_000": "10_000",
        "sklar audit independent -e 1": "sklar audit independent -e 1 --runs 20 --pair 'lone label'",
    },
    "attacks.md": {
        "targets=500": "targets=100",
        "--runs 2000": "--runs 20 --pair 'lone label'",
        "runs=2000": "runs=20, pairs=['lone label']",
        "-e 1 --sensitive income --profile quick": "-e 1 --sensitive income --profile quick --workers 1 --targets 3,17",
        "--levels 1,5 --profile quick": "--levels 1,5 --profile quick --workers 1",
        'schema, sensitive=["cost"], profile="quick"': 'schema, profile="quick", targets=[3, 17]',
        'levels=[1, 5], profile="quick"': 'levels=[1, 5], profile="quick", workers=1',
    },
    "compare.md": {
        "-m vine,independent,dpc-gauss -e 0.5,1,3 --target income": FEW,
        "-m vine,independent -e 0.5,1,3 --metrics g_epsilon_plus": (
            "-m independent -e 1 --folds 2 --jobs 1 --metrics g_epsilon_plus"
        ),
        f"-m vine -e 1 --peer mst='{PEER}'": f"{FEW} --peer mst='cp {{train}} {{output}}'",
        'methods=["vine", "independent"], epsilons=[0.5, 1, 3], folds=5, target="income"': (
            'methods=["independent"], epsilons=[1], folds=2, jobs=1, metrics=["tvd2"]'
        ),
        f'"{PEER}"': '"cp {train} {output}"',
    },
    "disclosed.md": {"--sets 2": "--sets 2 --workers 1", "sets=2": "sets=2, workers=1"},
    "trajectories.md": {"2000": "600"},
    "scale.md": {"1000000000": "100000", "--workers 16": "--workers 1"},
}
"""Numbers and names that are smaller here than on the page, so that all pages take a minute and not a day."""


@dataclass(frozen=True, slots=True)
class Block:
    page: str
    line: int
    language: str
    marks: tuple[str, ...]
    text: str

    @property
    def runs(self) -> bool:
        return self.language in ("bash", "python") and "not-run" not in self.marks


def blocks(page: str) -> list[Block]:
    found = re.finditer(r"^```([^\n]*)\n(.*?)^```$", PAGES[page].read_text(), re.MULTILINE | re.DOTALL)
    return [_block(page, match) for match in found]


def _block(page: str, match: re.Match[str]) -> Block:
    language, *marks = match[1].split() or [""]
    return Block(page, match.string[: match.start()].count("\n") + 2, language, tuple(marks), match[2])


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a reader of the pages has at hand: the demo's files, rows that were held out, a public table."""
    from sklar.export.write import write_table
    from sklar.lab.demo import demo
    from sklar.lab.people import people_schema, people_table

    folder = tmp_path_factory.mktemp("tables")
    demo(folder / "sklar-demo", rows=400, method="independent")
    for name in ("people.csv", "people.toml", "people.sklar", "synthetic.csv"):
        shutil.copy(folder / "sklar-demo" / name, folder / name)
    for seed, name in enumerate(["held.csv", "public.csv", "a.csv", "b.csv"], start=2):
        write_table(people_table(200, seed=seed), folder / name, people_schema())
    return folder


def write_demo_table(folder: Path) -> None:
    """Writes the table and the schema of a demo, without what is made of them."""
    from sklar.export.write import write_table
    from sklar.lab.people import people_schema, people_table

    folder.mkdir(parents=True)
    write_table(people_table(400), folder / "people.csv", people_schema())
    people_schema().write(folder / "people.toml")


@pytest.mark.parametrize("page", PAGES)
def test_every_block_is_run_or_listed_with_a_reason(page: str) -> None:
    """Blocks of R are run by tests/programs/test_r.py."""
    idle = {block.text: block for block in blocks(page) if not block.runs and block.language != "r"}
    assert all(block.language == "text" or "not-run" in block.marks for block in idle.values()), idle
    listed = [start for of, start in NOT_RUN if of == page]
    assert len(listed) == len(idle) and all(any(text.startswith(start) for text in idle) for start in listed)
    for known in SMALLER.get(page, {}):
        assert any(known in block.text for block in blocks(page) if block.runs), known


@pytest.mark.parametrize("page", PAGES)
def test_no_code_outside_of_blocks(page: str) -> None:
    """A block by indentation, or commands in a block without a language, would escape."""
    text = re.sub(r"^```.*?^```$", "", PAGES[page].read_text(), flags=re.MULTILINE | re.DOTALL)
    assert not re.search(r"\n\n    \S", text) and "```" not in text


@pytest.fixture
def quicker(monkeypatch: pytest.MonkeyPatch) -> None:
    """The profile `quick` of attacks on methods, quicker still, and few trees to be boosted."""
    few = {"iterations": 2, "reference": 60, "size": 60, "tables": 2}
    shadow = ShadowProfile(**few, shadows=2, synthetic=60, test_tables=4)
    monkeypatch.setitem(SHADOW_PROFILES, "quick", shadow)
    monkeypatch.setitem(ATTRIBUTE_PROFILES, "quick", AttributeProfile(**few))
    for place in (
        "metrics.detection.DETECTION_ROUNDS",
        "learning.learners.MAX_BOOSTING_ROUNDS",
        "learning.learners.MIN_BOOSTING_ROUNDS",
    ):
        monkeypatch.setattr(f"sklar.lab.{place}", 4)


RUN = [page for page in PAGES if any(block.runs for block in blocks(page))]


@pytest.mark.usefixtures("quicker")
@pytest.mark.parametrize("page", slow_unless("README.md".__eq__, RUN))
def test_the_commands_of_a_page(
    page: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "work"
    if page == "README.md":  # which makes its own of the demo's table and schema
        write_demo_table(folder / "sklar-demo")
    else:
        shutil.copytree(request.getfixturevalue("tables"), folder)
    monkeypatch.chdir(folder)
    names: dict[str, Any] = {}
    said = ""
    for block in blocks(page):
        if block.runs:
            said += run_block(block, names)
        elif NOT_RUN.get((page, _start(block))) == OUTPUT:
            assert squeezed(block.text.splitlines()[0]) in squeezed(said), block


def _start(block: Block) -> str | None:
    return next((start for page, start in NOT_RUN if page == block.page and block.text.startswith(start)), None)


def squeezed(text: str) -> str:
    return " ".join(text.split())


def run_block(block: Block, names: dict[str, Any]) -> str:
    """Run it and give what commands said."""
    text = block.text
    for whole, small in SMALLER.get(block.page, {}).items():
        text = text.replace(whole, small)
    if block.language == "python":
        exec(compile("\n" * (block.line - 1) + text, PAGES[block.page], "exec"), names)
        return ""
    return "".join(run_line(line) for line in text.replace("\\\n", " ").splitlines() if line.strip())


def run_line(line: str) -> str:
    """One line of a shell; `sklar` inside this process, which saves the seconds that imports take."""
    from typer.testing import CliRunner

    from sklar.cli.main import app

    words = shlex.split(line, comments=True)
    if words[:1] != ["sklar"]:
        return subprocess.run(["bash", "-ec", line], check=True, capture_output=True, text=True).stdout
    assert not {"|", ">", "<", "&&", ";", "&"}.intersection(words), "only a shell can run this"
    ended = CliRunner().invoke(app, words[1:])
    assert ended.exit_code == 0, f"{line}\n{ended.stderr}"
    assert "is also a ledger" not in ended.stderr and "new ledger" not in ended.stderr, ended.stderr
    return ended.stdout
