"""Learn from what a recogniser was unsure about: n-gram kernels on lattices against its best guess.

Simulated: requests of three kinds are heard by a recogniser that takes words for similar ones.  Its lattice holds every
reading with its probability, its best guess the likeliest word at each place.  The same n-gram kernel learns from the
lattices, from the best guesses and, as a bound, from the words that were said, at several levels of noise.

    python examples/lattices.py              # half a minute; draws demo/lattices.png
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import kernelweave as kw
from kernelweave.interpret import top_ngrams
from kernelweave.plots.style import BLUE, GREY, figure, quiet

FRAMES = [
    "tell me about the {0} in {town}", "i want the {0} and the {1} for {town}", "what about the {0} {when}",
    "is there {0} or {1} in {town} {when}", "how is the {0} to {town}", "find me the {0} from {town}",
]  # fmt: skip
KINDS = {
    "weather": ["rain", "wind", "snow", "sleet", "fog"],
    "travel": ["train", "plane", "flight", "fare", "seat"],
    "music": ["tune", "band", "song", "flute", "bass"],
}
TOWNS, TIMES = ["paris", "rome", "oslo", "york"], ["today", "tomorrow", "tonight"]
HEARD = {
    "rain": ["train", "reign"], "wind": ["band", "win"], "snow": ["song", "so"], "sleet": ["seat", "flute"],
    "fog": ["fare", "frog"], "train": ["rain", "tune"], "plane": ["rain", "plan"], "flight": ["flute", "light"],
    "fare": ["fair", "fog"], "seat": ["sleet", "bass"], "tune": ["train", "june"], "band": ["wind", "bend"],
    "song": ["snow", "long"], "flute": ["flight", "fruit"], "bass": ["seat", "base"], "find": ["wind", "fine"],
    "tell": ["sell", "tall"], "how": ["now", "who"], "want": ["wind", "won"], "there": ["fare", "their"],
}  # fmt: skip
"""What a word is taken for."""
LEVELS = np.array([0.1, 0.3, 0.5, 0.7])
SHOWN = 8
ORANGE, GREEN = "#D55E00", "#009E73"
INPUTS = {"lattices": BLUE, "best guesses": GREY, "words said": GREEN}
KERNEL = kw.NGram(2, cumulative=True)


def said(n: int, rng: np.random.Generator) -> tuple[list[str], np.ndarray]:
    """Return requests and their kinds."""
    kinds, texts = rng.choice(list(KINDS), n), []
    for kind in kinds:
        about, places = rng.permutation(KINDS[kind]), {"town": rng.choice(TOWNS), "when": rng.choice(TIMES)}
        texts.append(str(rng.choice(FRAMES)).format(*about, **places))
    return texts, kinds


def heard(text: str, noise: float, rng: np.random.Generator) -> tuple[list[tuple[int, int, str, float]], list[int]]:
    """Return the lattice of a text: at each place its word and those it is taken for, with their probabilities."""
    arcs: list[tuple[int, int, str, float]] = []
    words = text.split()
    for place, word in enumerate(words):
        readings = [word, *HEARD.get(word, ())]
        scores = rng.gamma(0.5, size=len(readings)) * noise
        scores[0] += (1.0 - noise) * rng.random()
        arcs += [(place, place + 1, other, float(p)) for other, p in zip(readings, scores / scores.sum()) if p > 0.01]
    return arcs, [len(words)]


def accuracies(noise: float, rows: int, seed: int) -> tuple[dict[str, float], Any, kw.Lattices]:
    """Return the accuracy on new requests by input, the model of lattices, and the lattices."""
    rng = np.random.default_rng(seed)
    texts, y = said(2 * rows, rng)
    X = kw.Lattices.from_arcs([heard(text, noise, rng) for text in texts]).normalized()
    inputs = {"lattices": X, "best guesses": X.one_best(), "words said": kw.Sequences.from_strings(texts, "words")}
    found, models = {}, {}
    for name, rows_of in inputs.items():
        models[name] = kw.KernelClassifier(KERNEL, C=3.0, normalize="cosine").fit(rows_of[:rows], y[:rows])
        found[name] = float(models[name].score(rows_of[rows:], y[rows:]))
    return found, models["lattices"], X


def draw_lattice(ax: Any, X: kw.Lattices, row: int) -> None:
    """Draw one lattice: places from left to right, the likelier a word the darker."""
    one = X[[row]]
    for place in range(int(one.state_counts[0]) - 1):
        arcs = np.flatnonzero(one.source == place)
        order = arcs[np.argsort(-one.weights[arcs])]
        for level, arc in enumerate(order):
            word, weight = one.alphabet.letters[one.labels[arc]], float(one.weights[arc])
            ax.text(place + 0.5, 0.06 - level, word, ha="center", va="bottom", fontsize=9)
            ax.text(place + 0.5, -0.1 - level, f"{weight:.2f}", ha="center", va="top", fontsize=7, color=GREY)
            ax.plot([place + 0.05, place + 0.95], [-level, -level], color=BLUE, alpha=0.15 + 0.85 * weight, lw=1.5)
    ax.set(xlim=(-0.1, int(one.state_counts[0]) - 0.9), ylim=(-2.6, 0.7))
    ax.set_title("what the recogniser hands on: every reading with its probability", fontsize=10)
    ax.axis("off")


def draw_ngrams(ax: Any, model: Any, kind: str) -> None:
    """Draw what the best n-grams add to the decision value of a kind."""
    best = top_ngrams(model, SHOWN, target=kind)[::-1]
    colours = [BLUE if gram.weight > 0 else ORANGE for gram in best]
    ax.barh(range(len(best)), [gram.weight for gram in best], color=colours, height=0.6)
    ax.set_yticks(range(len(best)), [gram.ngram for gram in best])
    ax.axvline(0, color=GREY, linewidth=0.8)
    ax.set_xlabel("adds to the decision value")
    ax.set_title(f"n-grams that decide: {kind}", fontsize=10)
    quiet(ax)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=150, help="requests for training, and as many for the test")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("demo/lattices.png"))
    options = parser.parse_args()
    scores: dict[str, list[list[float]]] = {name: [] for name in INPUTS}
    print("noise    " + "".join(f"{name:>15}" for name in INPUTS))
    for noise in LEVELS:
        runs = [accuracies(noise, options.rows, seed) for seed in range(options.repeats)]
        for name in INPUTS:
            scores[name].append([found[name] for found, _, _ in runs])
        print(f"{noise:<9.1f}" + "".join(f"{np.mean(scores[name][-1]):>15.3f}" for name in INPUTS))
    _, model, X = runs[0]
    fig, axes = figure(2, 2, (9.5, 6.0))
    grid = axes[0, 0].get_gridspec()
    grid.set_height_ratios([0.8, 1.0])
    for ax in axes[0]:
        ax.remove()
    draw_lattice(fig.add_subplot(grid[0, :]), X, int(np.argmax(X.arc_counts)))
    draw_ngrams(axes[1, 0], model, "weather")
    for name, colour in INPUTS.items():
        mean, spread = np.mean(scores[name], axis=1), np.std(scores[name], axis=1)
        axes[1, 1].errorbar(LEVELS, mean, spread, fmt="o-", color=colour, label=name, capsize=3, markersize=4)
    axes[1, 1].set(xlabel="noise of the recogniser", ylabel="accuracy on new requests")
    axes[1, 1].legend(frameon=False)
    quiet(axes[1, 1])
    options.out.parent.mkdir(parents=True, exist_ok=True)
    fig.savefig(options.out, dpi=110)
    print(f"picture  {options.out}")


if __name__ == "__main__":
    main()
