"""Algorithm 1 of Malkiel et al. 2022, line by line and in loops, as its text means it.

Its two slips are mended as the text says: a match stores the best word (``w_m``), not the last one looked at, and the top
``top_k`` clusters are kept, not one more. Nothing here uses the production engine: embeddings are cut off with hooks on the
model itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sklearn.cluster import MeanShift, estimate_bandwidth
from torch import Tensor, nn

from whyalike.encoders.encoder import Encoder

POSITION_TABLES = ("position_embeddings", "wpe")


class Paragraph:
    """One text through the user's own model: E = T + O as a leaf, and the latent tokens B(p)."""

    def __init__(self, encoder: Encoder, text: str) -> None:
        model: Any = encoder.model[0].auto_model
        seen: dict[str, Tensor] = {}

        def words(module: nn.Module, args: Any, output: Tensor) -> Tensor:
            seen["T"] = output.detach().requires_grad_()
            return seen["T"]

        def positions(module: nn.Module, args: Any, output: Tensor) -> None:
            seen["O"] = output.detach()

        table, handles = model.get_input_embeddings().weight, []
        for name, module in model.named_modules():
            if isinstance(module, nn.Embedding) and module.weight is table:
                handles.append(module.register_forward_hook(words))
            if name.split(".")[-1] in POSITION_TABLES and isinstance(module, nn.Embedding):
                handles.append(module.register_forward_hook(positions))
        try:
            features = encoder.model.preprocess([text])
            with torch.enable_grad():
                latent = encoder.model[0](dict(features))["token_embeddings"]
        finally:
            for handle in handles:
                handle.remove()
        side = encoder.read([text])[0].side
        self.tokens = [i for i, kind in enumerate(side.kinds) if kind == "text"]  # without CLS and SEP
        self.word_of, self.words = side.word_of, side.words
        self.leaf, self.latent = seen["T"], latent[0]
        self.activation = (seen["T"].detach() + seen.get("O", torch.zeros(1)))[0]

    def feature(self) -> Tensor:
        """Equation (1)."""
        total = torch.zeros_like(self.latent[0])
        for i in self.tokens:
            total = total + self.latent[i]
        return total / len(self.tokens)


def cosine(v: Tensor, u: Tensor) -> Tensor:
    return (v @ u) / (v.norm() * u.norm())


def token_saliency(constant: Paragraph, paragraph: Paragraph, ablation: str = "product") -> np.ndarray:
    """TokenSaliency: equations (3) and (4)."""
    score = cosine(constant.feature().detach(), paragraph.feature())
    (gradient,) = torch.autograd.grad(score, paragraph.leaf, retain_graph=True)
    saliency = []
    for i in paragraph.tokens:
        total = 0.0
        for k in range(gradient.shape[-1]):
            factors = {"product": float(paragraph.activation[i, k]) * float(gradient[0, i, k])}
            factors |= {"activations": float(paragraph.activation[i, k]), "gradients": float(gradient[0, i, k])}
            total += max(0.0, factors[ablation])
        saliency.append(total)
    low, high = min(saliency), max(saliency)
    return np.array([(each - low) / (high - low) for each in saliency])


def words_from_tokens(paragraph: Paragraph, saliency: np.ndarray) -> tuple[list[np.ndarray], list[float]]:
    """WordPiece⁻¹ with φ = mean and ψ = max."""
    vectors, scores = [], []
    for word in range(len(paragraph.words)):
        members = [n for n, i in enumerate(paragraph.tokens) if paragraph.word_of[i] == word]
        latent = [paragraph.latent[paragraph.tokens[n]].detach().numpy() for n in members]
        vectors.append(sum(latent) / len(latent))
        scores.append(max(saliency[n] for n in members))
    return vectors, scores


def match_words(
    vectors: list[np.ndarray],
    others: list[np.ndarray],
    saliency: list[float],
    other_saliency: list[float],
    reverse: bool,
) -> set[tuple[int, int, float]]:
    found = set()
    for i, vector in enumerate(vectors):
        best, closest = 0, float(cosine(torch.from_numpy(vector), torch.from_numpy(others[0])))
        for j in range(1, len(others)):
            candidate = float(cosine(torch.from_numpy(vector), torch.from_numpy(others[j])))
            if closest <= candidate:
                best, closest = j, candidate
        pair = (best, i) if reverse else (i, best)
        found.add((*pair, round(saliency[i] * other_saliency[best] * closest, 10)))
    return found


def top_words(matches: set[tuple[int, int, float]], top_k: int) -> set[tuple[int, int, float]]:
    ordered = sorted(matches)
    scores = np.array([[score] for _, _, score in ordered])
    shifted = MeanShift(bandwidth=estimate_bandwidth(scores)).fit(scores)  # every score is a seed
    by_centroid = sorted(range(len(shifted.cluster_centers_)), key=lambda c: -shifted.cluster_centers_[c, 0])
    return {
        match for match, label in zip(ordered, shifted.labels_, strict=True) if by_centroid.index(int(label)) < top_k
    }


def bti_by_loops(encoder: Encoder, left: str, right: str, top_k: int = 2, ablation: str = "product") -> dict[str, Any]:
    """Every step's values: saliency per word on both sides, all matches, the matches in the top clusters."""
    first, second = Paragraph(encoder, left), Paragraph(encoder, right)
    vectors, saliency = words_from_tokens(first, token_saliency(second, first, ablation))
    others, other_saliency = words_from_tokens(second, token_saliency(first, second, ablation))
    matches = match_words(vectors, others, saliency, other_saliency, reverse=False)
    matches |= match_words(others, vectors, other_saliency, saliency, reverse=True)
    return {
        "left_saliency": saliency,
        "right_saliency": other_saliency,
        "matches": matches,
        "top": top_words(matches, top_k),
    }
