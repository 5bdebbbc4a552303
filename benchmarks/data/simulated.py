"""TVineSynth's simulated table (Griesbauer et al. 2025, appendix M), from its definition, row by row as published.

Y is 0 or 1, X given Y is normal with mean mu_Y and covariance Sigma_Y in three independent blocks, X1 to X5, X6 to X10
and X11 to X20. Only the third differs between the values of Y, so it alone helps to predict Y. The numbers below are mu
and Sigma to seven digits. Rows come from R's stream as in the authors' script: 500 and 500 to train (seed 123), 125 and
125 to test (seed 789), so that they agree with the published files to six decimals.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from benchmarks.data.r_stream import RStream

SEEDS = {"train": (123, 500), "test": (789, 125)}
"""Seed of the stream, and rows of each value of Y."""
SIGNS = ("-+-+----+--+-+---++-", "+--+-+++-+--+-+---+-")
"""Of the largest entry of each eigenvector of Sigma_0 and Sigma_1, which are free: R's are needed for its rows."""
MEANS = """
-2.4177042 5.8390311 20.104511 12.6591069 0.3549636 12.6376721 12.2886323 21.2920069 1.1127438 24.6937344 25.2691841
-3.5349954 6.1013754 -4.5187521 3.3659004 19.7273116 5.7833165 12.7991648 -3.1923683 14.7599444
"""
"""Of the 20 covariates where Y = 0."""
MEANS_ONE = """
24.4437214 -4.7800412 6.5132702 -4.725703 2.0840487 20.6345177 5.2591514 13.5710319 -2.9395538 15.3864626
"""
"""Of X11 to X20 where Y = 1; X1 to X10 have the same means."""
FIRST_BLOCK = """
2.5696197 -2.1413038 6.1229845 1.3307915 -2.9862727 6.3613416 0.0356036 -0.358122 -1.8495737 3.2873003 -0.7555995
1.2510361 2.0504474 -0.9668782 6.0660054
"""
"""Covariances of X1 to X5, lower triangle by rows, the same for both values of Y."""
SECOND_BLOCK = """
3.8045116 -1.9699336 7.7693003 1.6861068 -1.6911317 3.8584844 -0.2921401 -2.06889 1.669211 4.1192895 -1.0106773
2.0005962 -1.457376 -1.4718436 1.9248293
"""
"""Of X6 to X10, the same for both."""
THIRD_BLOCK = """
5.8215582 -1.2929857 8.59523 -2.5152057 -0.9830513 5.435287 1.8012274 -3.4804658 0.4760205 5.6691718 -1.9294042
-1.7996396 -1.0190885 -1.1317111 7.7985518 -2.1287643 -1.3324597 0.6345724 -1.798804 2.9188576 4.4359563 -2.7394398
2.5628269 -1.1807694 -2.9831551 3.8310861 3.0476364 7.1628797 -1.842012 -2.2133026 1.9040815 0.8855754 3.0136845
2.7279807 2.7174905 5.2077293 -0.0891679 -1.086726 -1.1339358 0.2796044 1.1111846 -0.034016 2.2055364 1.1632647
4.990857 -2.7178358 -0.6201831 2.8419338 -0.3715296 2.8090388 1.9272651 2.0488312 3.6544886 0.2310271 5.8819843
"""
"""Of X11 to X20 where Y = 0."""
THIRD_BLOCK_ONE = """
6.0082851 -3.2371502 7.7825749 2.6676975 -0.1897085 6.1246198 -0.5541337 2.0667524 0.9008656 5.5999474 3.8889675
-3.6582943 3.5275603 1.5202049 8.1978637 1.3371097 0.8912461 1.6502795 2.0029978 1.7504098 3.0600388 1.2197933
-0.0096829 -0.0039746 1.4100395 1.011924 1.4826338 5.0269295 -1.2212801 0.0338715 -1.666902 1.7965136 -0.1078759
-0.5920785 -1.0776248 4.0196334 2.0207924 -0.3549671 3.0107783 1.0601729 2.9728227 1.150599 1.9258877 -1.1439662
5.1252177 -2.5341298 -0.2808948 -1.9524134 -1.9072638 -1.8796402 -0.500673 -1.308652 0.0778991 -1.5738987 5.4020451
"""
"""Of X11 to X20 where Y = 1."""


def parameters(y: int) -> tuple[np.ndarray, np.ndarray]:
    """mu_y and Sigma_y."""
    mean = _numbers(MEANS)
    if y:
        mean[10:] = _numbers(MEANS_ONE)
    cov = np.zeros((20, 20))
    for start, text in ((0, FIRST_BLOCK), (5, SECOND_BLOCK), (10, THIRD_BLOCK_ONE if y else THIRD_BLOCK)):
        lower = _numbers(text)
        at = np.tril_indices(round((np.sqrt(8 * len(lower) + 1) - 1) / 2))
        cov[start + at[0], start + at[1]] = cov[start + at[1], start + at[0]] = lower
    return mean, cov


def simulated(part: str) -> pd.DataFrame:
    """The published "train" or "test" rows."""
    seed, rows = SEEDS[part]
    stream = RStream(seed)
    drawn = [_normal_rows(stream, rows, y) for y in (0, 1)]
    frame = pd.DataFrame(np.concatenate(drawn), columns=[f"X{i}" for i in range(1, 21)])
    frame["Y"] = np.repeat([0, 1], rows)
    return frame


def _normal_rows(stream: RStream, rows: int, y: int) -> np.ndarray:
    """MASS::mvrnorm: the eigenvectors of Sigma, largest eigenvalue first."""
    mean, cov = parameters(y)
    values, vectors = np.linalg.eigh(cov)
    values, vectors = values[::-1], vectors[:, ::-1]
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(20)]
    wanted = np.array([1.0 if sign == "+" else -1.0 for sign in SIGNS[y]])
    z = stream.normal(20 * rows).reshape(20, rows)
    return mean + z.T @ (vectors * np.sign(largest) * wanted * np.sqrt(values)).T


def _numbers(text: str) -> np.ndarray:
    return np.array(text.split(), dtype=float)
