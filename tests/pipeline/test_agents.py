"""A released model served to agents, asked by the official client over standard input and output (slow)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sklar
from sklar.pipeline.agents import model_tools
from tests.environments import python_with, run_there

SCHEMA = sklar.Schema({"age": sklar.Integer(0, 99), "sex": sklar.Category(["F", "M"])})
CLIENT = """
import asyncio, json, sys
from mcp import Client, StdioServerParameters, stdio_client

async def main():
    words = ["-W", "ignore", "-m", "sklar", "mcp", sys.argv[1], "--max-rows", "50"]
    import os
    server = stdio_client(StdioServerParameters(command=sys.executable, args=words, env=dict(os.environ)))
    async with Client(server) as client:
        tools = await client.list_tools()
        print(json.dumps(sorted(tool.name for tool in tools.tools)))
        for name, arguments in (
            ("schema", {}), ("sample", {"rows": 5, "seed": 1, "given": {"sex": "F"}}),
            ("estimate", {"statistic": "mean", "columns": ["age"]}), ("verify", {}), ("report", {}),
            ("sample", {"rows": 51}),
        ):
            found = await client.call_tool(name, arguments)
            print(json.dumps([bool(found.is_error), "".join(getattr(part, "text", "") for part in found.content)]))

asyncio.run(main())
"""


@pytest.fixture
def released(tmp_path: Path) -> Path:
    data = {"age": [20, 30, 40, 50] * 200, "sex": ["F", "M"] * 400}
    sklar.fit(data, SCHEMA, method="independent", epsilon=3.0).save(tmp_path / "people.sklar")
    return tmp_path / "people.sklar"


def test_tools_answer_from_the_release_alone(released: Path) -> None:
    schema, sample, estimate, _, verify = model_tools(sklar.load(released), released, 50)
    assert "[columns.age]" in schema()["schema"] and "epsilon = 3" in schema()["claim"]
    rows = sample(rows=20, seed=1, given={"age": [30, 45]})
    assert rows == sample(rows=20, seed=1, given={"age": [30, 45]}) and all(30 <= row["age"] <= 45 for row in rows)
    assert 20 < estimate("mean", ["age"])[0]["value"] < 50 and verify()["ok"]
    with pytest.raises(ValueError, match="between 1 and 50"):
        sample(rows=51)


@pytest.mark.slow
def test_the_official_client_is_answered(released: Path) -> None:
    """In an environment of its own, since the protocol's package is an extra; nothing is written beside the model."""
    said = [json.loads(line) for line in run_there(python_with("mcp>=2"), CLIENT, str(released)).splitlines()]
    assert said[0] == ["estimate", "report", "sample", "schema", "verify"]
    assert [one[0] for one in said[1:]] == [False] * 5 + [True]
    assert "epsilon = 3" in said[1][1] and said[2][1].count('"F"') == 5 and '"value"' in said[3][1]
    assert '"ok": true' in said[4][1] and "<html" in said[5][1]
    assert [path.name for path in released.parent.iterdir()] == ["people.sklar"]


@pytest.mark.slow
def test_a_model_without_a_guarantee_is_refused(tmp_path: Path) -> None:
    code = (
        "import sklar, sys; from sklar.pipeline.agents import make_server\n"
        "m = sklar.fit({'x': [1.0, 2.0, 3.0] * 40, 'y': [2.0, 1.0, 3.0] * 40}, sklar.Schema({'x': sklar.Real(0, 9), "
        "'y': sklar.Real(0, 9)}), method='plain-gaussian', no_guarantee=True); m.save(sys.argv[1])\n"
        "try: make_server(sys.argv[1])\nexcept sklar.errors.UsageError as error: print(error)"
    )
    assert "no privacy guarantee" in run_there(python_with("mcp>=2"), code, str(tmp_path / "m.sklar"))
