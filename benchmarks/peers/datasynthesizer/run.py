"""DataSynthesizer's PrivBayes on the public grid: run.py [degree] TRAIN SCHEMA EPSILON DELTA ROWS OUTPUT.

Its delta is 0. It finds the domain of every column in the rows it is given; here these are codes of the public grid,
but codes that do not occur are still unknown to it, so what it learns about domains is not paid for.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from public_grid import read_task

PROMISE = (
    "epsilon-DP of network and tables (Laplace), but domains are read off the rows, unpaid: no guarantee as a whole"
)


def main() -> None:
    """Describe and generate."""
    from DataSynthesizer.DataDescriber import DataDescriber
    from DataSynthesizer.DataGenerator import DataGenerator

    degree = int(sys.argv[1]) if len(sys.argv) == 8 else 2
    task = read_task()
    names = {name: f"c{at}" for at, name in enumerate(task.sizes)}
    with tempfile.TemporaryDirectory() as folder:
        data, description = Path(folder) / "codes.csv", Path(folder) / "description.json"
        # Words, not numbers: it would bin numbers by the least and greatest that occur.
        task.codes.rename(columns=names).map(lambda code: f"v{code}").to_csv(data, index=False)
        describer = DataDescriber(category_threshold=10**6)
        describer.describe_dataset_in_correlated_attribute_mode(
            dataset_file=str(data), epsilon=task.epsilon, k=degree,
            attribute_to_datatype=dict.fromkeys(names.values(), "String"),
            attribute_to_is_categorical=dict.fromkeys(names.values(), True),
            attribute_to_is_candidate_key=dict.fromkeys(names.values(), False),
        )  # fmt: skip
        describer.save_dataset_description_to_file(str(description))
        generator = DataGenerator()
        generator.generate_dataset_in_correlated_attribute_mode(task.rows, str(description))
        out = generator.synthetic_dataset
    codes = out.map(lambda word: int(str(word)[1:]) if str(word)[1:].isdigit() else 0)
    task.write(codes.rename(columns={short: name for name, short in names.items()}), PROMISE)


if __name__ == "__main__":
    main()
