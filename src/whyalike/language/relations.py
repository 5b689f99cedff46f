"""From the relations of spaCy's English parser (ClearNLP's) to those of Universal Dependencies, by a stated table.

Two differ in structure, not only in name. A preposition stands between a verb or noun and its object (*sit* → prep *on* →
pobj *mat*); in Universal Dependencies the object depends on the verb (``obl``) or noun (``nmod``), the preposition on it
(``case``). And a copula is the head of what is said (*is* → attr *doctor*); there what is said takes the copula's place, and
the copula is ``cop``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from whyalike.language.words import Tagged

TABLE: Mapping[str, str] = MappingProxyType(
    {
        "acomp": "xcomp",
        "agent": "case",
        "attr": "xcomp",
        "auxpass": "aux",
        "csubjpass": "csubj",
        "dative": "iobj",
        "dobj": "obj",
        "intj": "discourse",
        "meta": "dep",
        "neg": "advmod",
        "npadvmod": "obl",
        "nsubjpass": "nsubj",
        "oprd": "xcomp",
        "pcomp": "advcl",
        "pobj": "obl",  # nmod where the preposition hangs on a noun
        "poss": "nmod",
        "preconj": "cc",
        "predet": "det",
        "prep": "case",
        "prt": "compound",
        "quantmod": "advmod",
        "relcl": "acl",
        "": "dep",
    }
)
NOMINAL = ("NOUN", "PROPN", "PRON", "NUM")
SAID = ("attr", "acomp")


def universal(words: Sequence[Tagged]) -> list[Tagged]:
    """The same words with relations and heads as in Universal Dependencies."""
    heads = [word.head for word in words]
    relations = [word.relation for word in words]
    for number in range(len(words)):  # what is said takes the copula's place
        copula = _copula(words, number)
        if copula >= 0 and words[copula].pos == "AUX" and relations[copula] != "cop":
            heads[number], relations[number] = heads[copula], relations[copula]
            for other, head in enumerate(heads):
                if head == copula and other != number:
                    heads[other] = number
            heads[copula], relations[copula] = number, "cop"
    said_to_be = {word.head for word in words if word.relation == "expl"}
    for number, word in enumerate(words):  # *there is a cat*: what there is, is the subject
        if word.relation == "attr" and relations[number] == "attr" and word.head in said_to_be:
            relations[number] = "nsubj"
    for number, word in enumerate(words):  # an object takes the preposition's place
        preposition = word.head
        if word.relation in ("pobj", "pcomp") and preposition >= 0:
            above = heads[preposition]
            nominal = above >= 0 and words[above].pos in NOMINAL and relations[preposition] != "agent"
            if relations[preposition] == "conj" and above >= 0 and relations[above] == "case":
                heads[number], relations[number] = heads[above], "conj"  # *in a shirt and with a hat*
            elif relations[preposition] == "root":
                heads[number], relations[number] = above, "root"  # *In the house.*
            elif number == heads[preposition]:
                pass  # it has its place already: a copula's
            else:
                heads[number] = above
                relations[number] = (
                    ("nmod" if nominal else "obl") if word.relation == "pobj" else ("acl" if nominal else "advcl")
                )
            heads[preposition], relations[preposition] = number, "mark" if word.relation == "pcomp" else "case"
    for number, word in enumerate(words):
        if relations[number] == "aux" and word.pos == "PART":  # *to* before an infinitive
            relations[number] = "mark"
        elif relations[number] == "compound" and word.pos == "ADJ":
            relations[number] = "amod"
    return [
        word._replace(relation=TABLE.get(relation, relation), head=head)
        for word, relation, head in zip(words, relations, heads, strict=True)
    ]


def _copula(words: Sequence[Tagged], number: int) -> int:
    """The copula that says a word, by itself or (*is on the mat*, where nothing else is said) by a preposition; -1: none."""
    word = words[number]
    if word.relation in SAID and not any(each.relation == "expl" and each.head == word.head for each in words):
        return word.head
    if word.relation != "pobj" or word.head < 0 or words[word.head].relation != "prep":
        return -1
    copula = words[word.head].head
    others = [each for each in words if each.head == copula]
    said = any(each.relation in (*SAID, "expl", "aux", "auxpass", "advcl") for each in others)
    first = next((each for each in others if each.relation == "prep"), None)
    return -1 if said or first is not words[word.head] else copula


PHRASE_INTERNAL = ("conj", "compound", "flat", "fixed", "goeswith")


def raise_to_parent(words: Sequence[Tagged]) -> list[str]:
    """Each word's relation; coordinated and multi-word parts have that of the nearest word above that is neither."""
    found = []
    for word in words:
        seen, current = set(), word
        while current.relation in PHRASE_INTERNAL and current.head >= 0 and current.head not in seen:
            seen.add(current.head)
            current = words[current.head]
        found.append(current.relation)
    return found
