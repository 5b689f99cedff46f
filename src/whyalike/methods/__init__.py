"""The methods, by name. To know what exists, read this table."""

from __future__ import annotations

from whyalike.methods.baselines import ContextualCosine, Random, TokenEmbeddings
from whyalike.methods.bilrp import BiLRP
from whyalike.methods.bti import BTI
from whyalike.methods.exact_match import ExactMatch
from whyalike.methods.gradients import Gradients, IntegratedGradients
from whyalike.methods.hessian_product import HessianProduct
from whyalike.methods.integrated_jacobians import IntegratedJacobians
from whyalike.methods.leave_one_out import LeaveOneOut
from whyalike.methods.maxsim_map import MaxSimMap
from whyalike.methods.method import Method
from whyalike.methods.shapley import Shapley
from whyalike.methods.tfidf_vectors import TfidfVectors
from whyalike.methods.token_outputs import TokenOutputs
from whyalike.results.records import ModelKind

METHODS: dict[str, type[Method]] = {
    "bilrp": BiLRP,
    "hessian_product": HessianProduct,
    "integrated_jacobians": IntegratedJacobians,
    "token_outputs": TokenOutputs,
    "maxsim_map": MaxSimMap,
    "shapley": Shapley,
    "leave_one_out": LeaveOneOut,
    "token_embeddings": TokenEmbeddings,
    "bti": BTI,
    "gradients": Gradients,
    "integrated_gradients": IntegratedGradients,
    "tfidf_vectors": TfidfVectors,
    "contextual_cosine": ContextualCosine,
    "exact_match": ExactMatch,
    "random": Random,
}

DEFAULT_METHOD: dict[ModelKind, str] = {
    "dense": "bilrp",
    "multi-vector": "bilrp",
    "sparse": "bilrp",
    "function": "shapley",
}  # where the user names none, by kind of model

DEFAULT_METHODS: dict[ModelKind, tuple[str, ...]] = {  # that `compare` compares, by kind of model
    "dense": ("bilrp", "integrated_jacobians", "token_outputs", "bti"),
    "multi-vector": ("bilrp", "maxsim_map"),
    "sparse": ("bilrp", "shapley"),
    "function": ("shapley", "leave_one_out"),
}

__all__ = [
    "BTI",
    "DEFAULT_METHOD",
    "DEFAULT_METHODS",
    "METHODS",
    "BiLRP",
    "ContextualCosine",
    "ExactMatch",
    "Gradients",
    "HessianProduct",
    "IntegratedGradients",
    "IntegratedJacobians",
    "LeaveOneOut",
    "MaxSimMap",
    "Method",
    "Random",
    "Shapley",
    "TfidfVectors",
    "TokenEmbeddings",
    "TokenOutputs",
]
