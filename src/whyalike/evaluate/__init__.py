"""Are models and explanations right? Measures and their significance."""

from whyalike.evaluate.measure import Case
from whyalike.evaluate.run import MEASURES, Evaluation, cases_of, evaluate, spread_evenly
from whyalike.evaluate.subjects import Subject, subject

__all__ = ["MEASURES", "Case", "Evaluation", "Subject", "cases_of", "evaluate", "spread_evenly", "subject"]
