"""First-order methods: how salient is each word for this pair, and which words of the two texts belong together?

They say nothing about how a score falls apart, so their parts do not add up to it. What they share is written here, after
Algorithm 1 of Malkiel et al. 2022: words from tokens, matches both ways, scores of pairs, clusters of scores.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Literal, final, get_args

import numpy as np
from jaxtyping import Float, Int

from whyalike.encoders.encoder import Encoder
from whyalike.encoders.tokens import Reading
from whyalike.errors import BadInput, UnsupportedModel, unknown
from whyalike.methods.method import PairMethod
from whyalike.results.explanation import Explanation
from whyalike.results.matching import Match, Matching
from whyalike.results.records import NOTHING_MEASURED, Measured
from whyalike.results.sides import Side, group

Combine = Literal["mean", "max", "sum"]


@dataclass(frozen=True, slots=True, eq=False)
class TextSaliency:
    """One text as a first-order method sees it."""

    saliency: Float[np.ndarray, "tokens"]
    vectors: Float[np.ndarray, "tokens space"]
    embedding: Float[np.ndarray, "dim"]  # the model's own
    measured: Measured = NOTHING_MEASURED


PairSaliency = tuple[float, tuple[TextSaliency, TextSaliency]]  # the score, and both texts


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """The units of a text with saliency and vectors. ``own``: the words to match; no special tokens, no zero vectors."""

    side: Side
    saliency: Float[np.ndarray, "words"]
    vectors: Float[np.ndarray, "words space"]
    own: Int[np.ndarray, "own"]


class FirstOrder(PairMethod):
    """A method that gives the words of a *pair* their saliency, and matches them."""

    combine_vectors: Combine  # the paper's φ: a word's vector from those of its tokens
    combine_saliency: Combine  # the paper's ψ
    top_k: int | None  # how many clusters make the explanation; None: all

    @abstractmethod
    def text_saliencies(self, encoder: Encoder, left: Reading, right: Reading, budget: int) -> PairSaliency:
        """The similarity that was looked at, and both sides."""

    @final
    def explain(self, encoder: Encoder, left: Reading, right: Reading, budget: int) -> Explanation:
        """The pair's explanation in words: the score of each match in the top clusters, nothing elsewhere."""
        record = self.record(encoder)
        similarity, texts = self.text_saliencies(encoder, left, right, budget)
        words = [
            words_of(reading.side, text, self.combine_vectors, self.combine_saliency)
            for reading, text in zip((left, right), texts, strict=True)
        ]
        matching = match_words(words[0], words[1], self.top_k, similarity)
        matrix = np.zeros((len(words[0].side), len(words[1].side)))
        for match in matching.top:
            matrix[match.left_index, match.right_index] = match.score
        return Explanation(
            left=words[0].side,
            right=words[1].side,
            matrix=matrix,
            left_terms=np.zeros(len(matrix)),
            right_terms=np.zeros(matrix.shape[1]),
            constant=0.0,
            score=encoder.record.score(texts[0].embedding, texts[1].embedding),
            method=record,
            model=encoder.record,
            measured={"left": texts[0].measured, "right": texts[1].measured},
            matching=matching,
        )


def check_matching(method: FirstOrder) -> None:
    """Refuses parameters that all first-order methods have."""
    for name, value in (("combine_vectors", method.combine_vectors), ("combine_saliency", method.combine_saliency)):
        if value not in get_args(Combine):
            raise unknown(name, value, get_args(Combine))
    number = isinstance(method.top_k, int) and not isinstance(method.top_k, bool)
    if method.top_k is not None and (not number or method.top_k < 1):
        raise BadInput(f"top_k should be a number of clusters, 1 or more, or None for all; got {method.top_k!r}.")


def min_max(values: Float[np.ndarray, "tokens"], own: np.ndarray) -> Float[np.ndarray, "tokens"]:
    """Scaled to [0, 1] over the text's own tokens; 0 elsewhere.

    Where all of them are equal the paper's formula is 0/0: they are all 1 then, or all 0 where they are not above 0.
    """
    if not np.isfinite(values[own]).all():
        raise UnsupportedModel(
            "The gradients of this model's similarity are not finite numbers, so no word can be called salient. "
            "Load it in float32, or look for NaN in its weights."
        )
    scaled = np.zeros(len(values))
    if own.any():
        mine = values[own].astype(np.float64)
        spread = mine.max() - mine.min()
        scaled[own] = (mine - mine.min()) / spread if spread > 0 else (mine > 0).astype(np.float64)
    return scaled


def words_of(side: Side, text: TextSaliency, combine_vectors: Combine, combine_saliency: Combine) -> Words:
    """WordPiece⁻¹, lines 3–4: tokens to words, by character offsets."""
    words, labels = group(side, "word")
    members = [np.flatnonzero(labels == number) for number in range(len(words))]
    saliency = [getattr(text.saliency[tokens], combine_saliency)() for tokens in members]
    vectors = [getattr(text.vectors[tokens], combine_vectors)(0) for tokens in members]
    table = np.stack(vectors).astype(np.float64)
    own = np.flatnonzero([kind == "text" and row.any() for kind, row in zip(words.kinds, table, strict=True)])
    return Words(words, np.array(saliency), table, own)


def match_words(left: Words, right: Words, top_k: int | None, similarity: float) -> Matching:
    """MatchWords both ways and TopWords, lines 5–7.

    Differs from the paper: Algorithm 1 stores the last word looked at (``w_j``) where the best one (``w_m``) is meant, and
    ``≤ top_k`` keeps one cluster more than the text says. Both follow the text here. A pair found from both sides counts once.
    """
    cosines = _cosines(left.vectors[left.own], right.vectors[right.own])
    found: dict[tuple[int, int], Literal["left", "right", "both"]] = {}
    if cosines.size:
        for i, j in enumerate(_last_argmax(cosines)):
            found[i, int(j)] = "left"
        for j, i in enumerate(_last_argmax(cosines.T)):
            found[int(i), j] = "both" if (int(i), j) in found else "right"
    pairs = sorted(found)
    rows, columns = ([int(words.own[pair[side]]) for pair in pairs] for side, words in enumerate((left, right)))
    scores = [  # Eq. (6)
        float(cosines[pair] * left.saliency[row] * right.saliency[column])
        for pair, row, column in zip(pairs, rows, columns, strict=True)
    ]
    clusters, centroids = cluster(np.array(scores))
    labels = left.side.labels, right.side.labels
    matches = [
        Match(labels[0][row], labels[1][column], row, column, float(cosines[pair]), score, int(number), found[pair])
        for pair, row, column, score, number in zip(pairs, rows, columns, scores, clusters, strict=True)
    ]
    return Matching(
        left_saliency=left.saliency,
        right_saliency=right.saliency,
        matches=tuple(sorted(matches, key=lambda match: -match.score)),
        centroids=tuple(centroids.tolist()),
        kept=len(centroids) if top_k is None else min(top_k, len(centroids)),
        similarity=similarity,
    )


def cluster(scores: Float[np.ndarray, "pairs"]) -> tuple[Int[np.ndarray, "pairs"], Float[np.ndarray, "clusters"]]:
    """MeanShift over the scores: the cluster of each, 0 the one with the highest centroid, and the centroids, falling.

    The bandwidth is scikit-learn's estimate; where that is 0 (up to six scores, or many equal ones) each distinct score is a
    cluster, as it is there. Started from every score, as by default, scikit-learn takes seconds for two paragraphs; it is
    given the places where those starts come to rest instead, found for all of them at once.
    """
    from sklearn.cluster import MeanShift, estimate_bandwidth

    if not len(scores):
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    column = scores[:, None]
    bandwidth = float(estimate_bandwidth(column))
    if bandwidth <= 1e-12:
        distinct, labels = np.unique(-scores, return_inverse=True)
        return labels.astype(np.int64), -distinct
    shifted = MeanShift(bandwidth=bandwidth, seeds=_resting_places(scores, bandwidth)[:, None]).fit(column)
    centres = shifted.cluster_centers_[:, 0]
    order = np.argsort(-centres, kind="stable")
    return np.argsort(order)[shifted.labels_].astype(np.int64), centres[order]


def _resting_places(scores: Float[np.ndarray, "pairs"], bandwidth: float) -> Float[np.ndarray, "places"]:
    """Where each score comes to rest when it moves to the mean of the scores within the bandwidth, again and again."""
    ordered = np.sort(scores)
    sums = np.concatenate([[0.0], np.cumsum(ordered)])
    places = ordered
    for _ in range(300):  # scikit-learn's own limit
        low = np.searchsorted(ordered, places - bandwidth, side="left")
        high = np.searchsorted(ordered, places + bandwidth, side="right")
        before, places = places, (sums[high] - sums[low]) / (high - low)
        if np.abs(places - before).max() <= 1e-9 * bandwidth:
            break
    return np.unique(np.round(places / bandwidth, 6)) * bandwidth


def _cosines(
    left: Float[np.ndarray, "left space"], right: Float[np.ndarray, "right space"]
) -> Float[np.ndarray, "left right"]:
    """Rounded, so that the same word twice is a tie wherever it stands. A vector of zeros is like nothing."""
    units = [each / np.maximum(np.linalg.norm(each, axis=1, keepdims=True), 1e-300) for each in (left, right)]
    return np.round(units[0] @ units[1].T, 12)


def _last_argmax(rows: Float[np.ndarray, "rows columns"]) -> Int[np.ndarray, "rows"]:
    """The algorithm's ``if c ≤ ĉ`` lets a later word win a tie."""
    return rows.shape[1] - 1 - np.argmax(rows[:, ::-1], axis=1)
