"""BTI (Malkiel et al. 2022): important words of two paragraphs, matched into pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from whyalike.encoders.encoder import Encoder
from whyalike.encoders.tokens import Reading
from whyalike.errors import unknown
from whyalike.methods.first_order import PairSaliency, TextSaliency
from whyalike.methods.saliency import (
    Gradient,
    GradientMethod,
    TextPass,
    check_gradient_method,
    saliency_from_gradients,
    text_saliency,
)

From = Literal["product", "activations", "gradients"]


@dataclass(frozen=True, slots=True)
class BTI(GradientMethod):
    """Word saliency from gradient × activation of token + position embeddings, matched by contextual word vectors.

    Equation (4): ``s_i = min-max( Σ_k ReLU(E_i ∘ g_i)_k )`` with ``g`` the gradient of the similarity at ``E``. The paper's
    ablations: ``layer=`` the last, ``saliency="activations"``, ``saliency="gradients"``. ``pooling="words"`` compares means of
    the texts' own tokens as in equation (1), ``"model"`` the embeddings that the model itself compares.
    """

    name: ClassVar[str] = "bti"
    title: ClassVar[str] = "salient words, matched (BTI)"
    summary: ClassVar[str] = (
        "salient words (gradient × embedding), matched by their contextual vectors, top clusters kept"
    )
    paper: ClassVar[str] = "Malkiel et al. 2022"
    saliency: From = "product"

    def text_saliencies(self, encoder: Encoder, left: Reading, right: Reading, budget: int) -> PairSaliency:
        return saliency_from_gradients(encoder.transformer, (left, right), self.layer, self.pooling, self._saliency)

    def _saliency(self, text: TextPass, gradient: Gradient) -> TextSaliency:
        activation, slope = text.states[0].to(gradient.at_tokens.dtype), gradient.at_tokens
        if self.saliency == "activations":
            return text_saliency(text, activation.relu().sum(-1))
        values = activation * slope if self.saliency == "product" else slope
        return text_saliency(text, values.relu().sum(-1), gradient.measured)  # Eq. (4)

    def check(self, encoder: Encoder) -> None:
        check_gradient_method(self, encoder.transformer)
        if self.saliency not in get_args(From):
            raise unknown("saliency", self.saliency, get_args(From))
