"""SmartNoise, SDGym and synthcity themselves use Sklar, each in an environment with the package.

SDGym and synthcity import torch. Of their other requirements only what their imports need is installed.
"""

from __future__ import annotations

import pytest

from tests.environments import python_with, run_there

pytestmark = pytest.mark.slow

FRAME = """
import os, tempfile
import numpy as np, pandas as pd
import sklar
os.chdir(tempfile.mkdtemp())
rng, n = np.random.default_rng(0), 2000
frame = pd.DataFrame({
    "age": rng.integers(20, 60, n), "sex": rng.choice(["F", "M"], n), "pay": rng.normal(3e4, 5e3, n).round(2),
    "dead": rng.integers(0, 2, n),
    "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 999, n), unit="D"),
})
"""
SMARTNOISE_ALONE = ("smartnoise-synth>=1.0.8", "pac-synth")
SMARTNOISE = ("Faker", "disjoint-set>=0.9,<0.10", "mbi>=1.1,<2", "smartnoise-sql", "pandas<3", "pyarrow")
TORCH_ALONE = (
    "torchvision==0.15.2", "synthcity==0.2.12", "sdgym==0.15.1", "sdv>=1.37,<2", "opacus", "monai", "tsai",
    "fastai<2.8", "fastcore<1.8", "fastprogress<1.1", "fastdownload", "torchtuples", "pycox", "h5py", "xgbse",
    "pykeops", "geomloss", "shap",
)  # fmt: skip
TORCH = (
    "torch==2.13.0", "numpy>=2,<2.4", "pandas<3", "scikit-learn", "scipy", "lifelines", "xgboost-cpu", "loguru",
    "pydantic", "cloudpickle", "networkx", "tenacity", "tqdm", "optuna", "importlib-metadata", "redis", "matplotlib",
    "seaborn", "pillow", "pyyaml", "requests", "slicer", "pybind11", "keopscore", "toposort",
    "copulas", "graphviz", "platformdirs", "boto3", "rdt>=1.18,<2", "sdmetrics", "appdirs", "compress-pickle",
    "humanfriendly", "openpyxl", "psutil", "tabulate<0.9", "XlsxWriter", "google-auth", "google-cloud-compute",
)  # fmt: skip

SCRIPT_OF_SMARTNOISE = """
import inspect, snsynth
few = frame[["age", "sex", "dead"]]
hints = {"categorical_columns": ["sex", "dead"], "ordinal_columns": ["age"], "preprocessor_eps": 1.0}
for Synthesizer in (snsynth.Synthesizer, sklar.adapters.Synthesizer):
    synth = Synthesizer.create("mst", epsilon=4.0, verbose=False)
    synth.fit(few, **hints)
    made = synth.sample(300)
    both = Synthesizer.create("mst", epsilon=4.0).fit_sample(few, **hints)
    print(type(made).__name__, list(made), len(made), sorted(set(made["sex"].dropna())), abs(len(both) - n) < 300)
for name in ("fit", "sample", "create", "fit_sample", "list_synthesizers"):
    theirs = inspect.signature(getattr(snsynth.Synthesizer, name)).parameters
    ours = inspect.signature(getattr(sklar.adapters.Synthesizer, name)).parameters
    open_ended = any(one.kind is one.VAR_KEYWORD for one in ours.values())
    named = {one.name for one in theirs.values() if one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)}
    print(sorted(named - set(ours)) if not open_ended else [])
"""


def test_a_script_of_smartnoise_runs_with_the_import_changed() -> None:
    said = run_there(python_with(*SMARTNOISE, alone=SMARTNOISE_ALONE), FRAME + SCRIPT_OF_SMARTNOISE).splitlines()
    assert said[0] == said[1] == "DataFrame ['age', 'sex', 'dead'] 300 ['F', 'M'] True"
    assert said[2:] == ["[]"] * 5  # every argument that they name, ours take


SCRIPT_OF_SDGYM = """
from sdgym import benchmark
from sdgym.synthesizers.base import BaselineSynthesizer
from sdgym.synthesizers.generate import create_single_table_synthesizer
from sdv.metadata import Metadata
metadata = Metadata.detect_from_dataframes({"people": frame}).to_dict()
mine = create_single_table_synthesizer("Sklar", *sklar.adapters.sdgym_functions(epsilon=8.0, method="independent"))
made, training, sampling, size, memory = benchmark._synthesize(
    {"synthesizer": mine, "name": "Sklar"}, frame, metadata, modality="single_table"
)
print(issubclass(mine, BaselineSynthesizer), made.shape, sorted(made) == sorted(frame), size > 0)
"""


def test_sdgym_trains_pickles_and_samples_as_in_a_benchmark() -> None:
    """By the function that its benchmark calls for each synthesizer; its tables would come from the network."""
    said = run_there(python_with(*TORCH, alone=TORCH_ALONE), FRAME + SCRIPT_OF_SDGYM)
    assert said.splitlines()[-1] == "True (2000, 5) True True"


SCRIPT_OF_SYNTHCITY = """
from synthcity.plugins.core.constraints import Constraints
from synthcity.plugins.core.dataloader import GenericDataLoader, SurvivalAnalysisDataLoader
from synthcity.plugins.core.plugin import Plugin, PluginLoader
schema = sklar.Schema({
    "age": sklar.Integer(0, 120), "sex": sklar.Category(["F", "M"]), "pay": sklar.Real(0, 1e5, nullable=True),
    "dead": sklar.Category([0, 1]), "day": sklar.Datetime("2000-01-01", "2030-12-31"),
})
Sklar = sklar.adapters.synthcity_plugin(schema, epsilon=8.0, method="independent")
plugins = PluginLoader([], Plugin, ["privacy"]).add("sklar", Sklar)
plugin = plugins.get("sklar")
table = GenericDataLoader(frame, target_column="dead")
print(plugins.list(), plugin.fit(table) is plugin, plugin.fqdn())
made = plugin.generate(count=300)
print(type(made).__name__, made.shape, made.target_column, plugin.schema_includes(made), plugin.schema_includes(table))
print(plugin.schema()["age"].min(), plugin.schema()["age"].max(), plugin.data_info["len"] == len(plugin.generate()))
rules = [("sex", "==", "F"), ("age", "ge", 30), ("age", "le", 40), ("dead", "eq", 1)]
some = plugin.generate(count=50, constraints=Constraints(rules=rules)).dataframe()
print(len(some), set(some["sex"]), set(some["dead"]), some["age"].between(30, 40).all())
twice = [plugin.generate(count=20, random_state=3).dataframe() for _ in range(2)]
print(twice[0].equals(twice[1]), Plugin.load(plugin.save()).generate(count=5).shape)
print(type(Sklar().fit(SurvivalAnalysisDataLoader(frame, target_column="dead", time_to_event_column="age"))
           .generate(count=10)).__name__)
"""


def test_synthcity_fits_and_generates_with_the_plugin() -> None:
    said = run_there(python_with(*TORCH, alone=TORCH_ALONE), FRAME + SCRIPT_OF_SYNTHCITY).splitlines()[-6:]
    assert said[0] == "['sklar'] True privacy.sklar"
    assert said[1] == "GenericDataLoader (300, 5) dead True True"
    assert said[2] == "0 120 True"  # ranges are those of the schema, and the number of rows that of the model
    assert said[3] == "50 {'F'} {1} True" and said[4] == "True (5, 5)" and said[5] == "SurvivalAnalysisDataLoader"
