"""COPULA-SHIRLEY (Gambs et al. 2021) as published: noisy histograms, and a vine that sees the rows. Not private."""
