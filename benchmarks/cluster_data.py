"""Simulated acceptor splice sites streamed into a store, tens of millions of them.

    python benchmarks/cluster_data.py --rows 10000000 --seed 1 sites.kws

Rows have 141 letters with AG at 60 and 61.  All are drawn from one order-3 Markov chain; true sites (a fifth) also have
a branch point CTAAC with mutations that lies in 25..38, a polypyrimidine tract at 45..59, and from 62 on letters with a
period of three, as codons have.  Chunk c of seed s depends on s and c alone, whatever the number of rows.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

import kernelweave as kw
from kernelweave._numba import jit
from kernelweave.data.stores import Stored, StoreWriter

Array = np.ndarray
LENGTH, SITE = 141, 60
CHUNK = 1 << 16
"""Rows that are drawn together; part of what a seed means."""
CHAIN_SEED, CHAIN_SPREAD = 12345, 5.0
"""The Markov chain is the same for every seed: 64 contexts, chances from a Dirichlet distribution."""
TRUE = 0.2
"""Share of true sites."""
MUTATED = 0.2
"""Chance that a letter of the branch point is replaced by a random one."""
TRACT = [0.125, 0.30, 0.125, 0.45]
CODON = [[0.28, 0.22, 0.36, 0.14], [0.30, 0.24, 0.17, 0.29], [0.16, 0.30, 0.32, 0.22]]
BRANCH = np.array([1, 3, 0, 0, 1], np.uint8)  # CTAAC
STEP, MIX_1, MIX_2 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
"""Constants of the SplitMix64 generator (Steele, Lea and Flood 2014)."""


def chunk(seed: int, number: int, rows: int = CHUNK) -> tuple[kw.Sequences, Array]:
    """Return the first rows of a chunk and their labels, 1 and -1."""
    chain = np.random.default_rng(CHAIN_SEED).dirichlet([CHAIN_SPREAD] * 4, 64)
    state = np.random.SeedSequence([seed, number]).generate_state(1, np.uint64)
    codes, y = np.empty((rows, LENGTH), np.uint8), np.empty(rows, np.int64)
    draw_rows(state, _limits(chain), _limits(np.array([TRACT, *CODON])), codes, y)
    return kw.Sequences(codes.reshape(-1), np.arange(rows + 1) * LENGTH, kw.Alphabet.named("dna")), y


def write_sites(path: Path | str, rows: int, seed: int) -> Stored:
    """Stream so many rows into a store."""
    with StoreWriter(path) as writer:
        for number, start in enumerate(range(0, rows, CHUNK)):
            writer.add(*chunk(seed, number, min(CHUNK, rows - start)))
    return Stored(path)


def _limits(chances: Array) -> Array:
    """Return three bounds for a random number of 32 bits: a letter is how many of them it exceeds."""
    return np.ascontiguousarray(chances.cumsum(axis=1)[:, :3] * 2.0**32).astype(np.uint64)


@jit
def draw_rows(state, chain, signals, codes, y):  # type: ignore[no-untyped-def]
    """Fill rows and labels; the state is that of the generator."""
    for row in range(len(codes)):
        letters = codes[row]
        context = 0
        for j in range(3):
            letters[j] = _bits(state) >> np.uint64(30)
            context = context * 4 + letters[j]
        for j in range(3, LENGTH):
            letters[j] = _letter(state, chain[context])
            context = (context * 4 + letters[j]) & 63
        y[row] = 1 if _bits(state) < TRUE * 2.0**32 else -1
        if y[row] == 1:
            _plant(state, signals, letters)
        letters[SITE], letters[SITE + 1] = 0, 2


@jit
def _plant(state, signals, letters):  # type: ignore[no-untyped-def]
    for j in range(45, 60):
        letters[j] = _letter(state, signals[0])
    start = 25 + (_bits(state) * np.uint64(10) >> np.uint64(32))
    for k in range(5):
        mutated = _bits(state) < MUTATED * 2.0**32
        letters[start + k] = _bits(state) >> np.uint64(30) if mutated else BRANCH[k]
    for j in range(62, LENGTH):
        letters[j] = _letter(state, signals[1 + (j - 62) % 3])


@jit
def _letter(state, limits):  # type: ignore[no-untyped-def]
    drawn = _bits(state)
    return np.uint8((drawn >= limits[0]) + (drawn >= limits[1]) + (drawn >= limits[2]))


@jit
def _bits(state):  # type: ignore[no-untyped-def]
    # 32 random bits
    state[0] += STEP
    mixed = (state[0] ^ (state[0] >> np.uint64(30))) * MIX_1
    mixed = (mixed ^ (mixed >> np.uint64(27))) * MIX_2
    return (mixed ^ (mixed >> np.uint64(31))) >> np.uint64(32)


def main() -> None:
    """Write a store and say how long it took."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("out", help="store to write, such as sites.kws")
    asked = parser.parse_args()
    began, cpu = time.perf_counter(), time.process_time()
    found = write_sites(asked.out, asked.rows, asked.seed)
    size = sum(part.bytes for part in found.manifest.parts)
    print(f"{found!r}: {size / 1e6:.0f} MB, {np.mean(found.y == 1):.4f} true sites")
    print(f"{time.process_time() - cpu:.1f} CPU s, {time.perf_counter() - began:.1f} s")


if __name__ == "__main__":
    main()
