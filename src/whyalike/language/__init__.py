"""Linguistics: words and sentences, taggers, CoNLL-U, grammatical relations."""
