"""Late interaction and SPLADE, literally and slowly: one backward pass for every number that the model gives.

The rules of `slow.Rules` hold the gates inside the transformer; what comes after it is written out here once more, with its
gates as `.detach()`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask
from sentence_transformers.sentence_transformer.modules import Dense, Normalize
from torch import Tensor

from tests.reference.slow import Rules, SlowEncoder
from whyalike.encoders.transformer import TransformerEncoder


class SlowText(SlowEncoder):
    """The states of a text at a layer of the user's own model, read in a role, and the outputs made of states put in place."""

    def __init__(self, encoder: TransformerEncoder, text: str, layer: int, role: str | None = None) -> None:
        self.model, self.layers, self.layer, self.normalize = encoder.model, encoder.layers, layer, False
        prompt = None if role is None else encoder.model.prompts[role]
        self.role, self.features = role, dict(self.model.preprocess([text], task=role, prompt=prompt))
        self.outputs = self.vectors if role is not None else self.weights
        self.hidden = self.run(None)[1].detach()

    def finish(self, features: dict[str, Any]) -> Tensor:
        return self.outputs(features)

    def vectors(self, features: dict[str, Any]) -> Tensor:
        """The vector of every token that is scored."""
        vectors, mask = features["token_embeddings"][0], features["attention_mask"][0].bool()
        for module in list(self.model)[1:]:
            if isinstance(module, Dense):
                vectors = module({"token_embeddings": vectors[None]})["token_embeddings"][0]
            elif isinstance(module, MultiVectorMask):
                mask = module(dict(self.features), task=self.role)["attention_mask"][0].bool()
            elif isinstance(module, Normalize):
                vectors = torch.stack([vector / torch.sqrt((vector * vector).sum()).detach() for vector in vectors])
        return vectors[mask]

    def weights(self, features: dict[str, Any]) -> Tensor:
        """The weight of every term of the vocabulary: ``log1p(relu(·))``, its ratio held, at the token that wins, or summed."""
        logits, pooling = features["token_embeddings"][0], self.model[1]
        found = []
        for term in range(logits.shape[1]):
            column = []
            for logit in logits[:, term]:
                weight = torch.log1p(torch.clamp(logit.detach(), min=0))
                weight = torch.log1p(weight) if pooling.activation_function == "log1p_relu" else weight
                column.append(logit * (weight / logit.detach()))
            winner = int(np.argmax([float(entry.detach()) for entry in column]))
            found.append(column[winner] if pooling.pooling_strategy == "max" else sum(column))
        return torch.stack(found)

    def contributions(self, gated: bool) -> tuple[np.ndarray, np.ndarray]:
        """Tokens × outputs (× dim): what each input token adds to each number; and the numbers themselves."""
        leaf = self.hidden.clone().requires_grad_()
        with Rules(gated, shared=True):
            outputs, _ = self.run(leaf)
        numbers = outputs.flatten()
        every = torch.eye(
            len(numbers), dtype=leaf.dtype
        )  # a backward pass for each number, all of them beside one another
        (gradients,) = torch.autograd.grad(numbers, leaf, every, is_grads_batched=True)
        products = [(gradient[0] * self.hidden[0]).sum(-1).numpy() for gradient in gradients]
        return np.stack(products, 1).reshape(-1, *outputs.shape), outputs.detach().numpy()


def maxsim_by_loops(
    encoder: TransformerEncoder, query: str, document: str, layer: int, *, mean: bool, gated: bool = False
) -> tuple[np.ndarray, float]:
    """``matrix[i, j] = Σ_k ⟨c_{k,i}, c'_{l(k),j}⟩``, over the number of query vectors for the mean; and the score."""
    (own, queries), (others, documents) = (
        SlowText(encoder, text, layer, role).contributions(gated)
        for text, role in ((query, "query"), (document, "document"))
    )
    matrix, score = np.zeros((len(own), len(others))), 0.0
    for k, vector in enumerate(queries):
        products = [float(vector @ other) for other in documents]
        winner = products.index(max(products))
        score += max(products)
        for i in range(len(own)):
            for j in range(len(others)):
                matrix[i, j] += float(own[i, k] @ others[j, winner])
    count = len(queries) if mean else 1
    return matrix / count, score / count


def splade_by_loops(
    encoder: TransformerEncoder, left: str, right: str, layer: int, *, cosine: bool, gated: bool = False
) -> tuple[np.ndarray, float]:
    """``matrix[i, j] = Σ_t c_{t,i} c'_{t,j} / Z``, one vocabulary term after the other; and the score."""
    (own, weights), (others, other_weights) = (
        SlowText(encoder, text, layer).contributions(gated) for text in (left, right)
    )
    scale = float(np.linalg.norm(weights) * np.linalg.norm(other_weights)) if cosine else 1.0
    matrix = np.zeros((len(own), len(others)))
    for term in range(len(weights)):
        matrix += np.outer(own[:, term], others[:, term]) / scale
    return matrix, float(weights @ other_weights) / scale
