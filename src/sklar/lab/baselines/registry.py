"""All methods without a guarantee, by name."""

from __future__ import annotations

from sklar.lab.baselines.cop import COP, COP_IDENTITY, COP_ONES, PLAIN_GAUSSIAN
from sklar.lab.baselines.method import BaselineMethod
from sklar.lab.baselines.rvine import PLAIN_VINE, RVINE, RVINE_STAR1
from sklar.lab.baselines.shirley.fit import SHIRLEY
from sklar.lab.baselines.tvine import TVINE

BASELINES: dict[str, BaselineMethod] = {
    "plain-gaussian": PLAIN_GAUSSIAN,
    "plain-vine": PLAIN_VINE,
    "cop": COP,
    "cop-id": COP_IDENTITY,
    "cop-1": COP_ONES,
    "shirley": SHIRLEY,
    "tvine": TVINE,
    "rvine": RVINE,
    "rvine-star1": RVINE_STAR1,
}
