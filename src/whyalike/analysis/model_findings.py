"""What to remember of a report: sentences made from numbers by stated rules.

Each topic is one function from the models' numbers to a `ModelFinding`, or to the reason why there is none. Of one model it
says what the numbers are; of several it says where they differ, and whether the difference is sure (see `profile.is_sure`).
Findings that differ surely come first, then those that warn, then the order of `TOPICS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from whyalike.analysis.kinds import CONTENT, NOUNS
from whyalike.analysis.profile import FAR, Profile, Ranks, Share, is_sure
from whyalike.analysis.section import Row

HEADLINES = 5
ALONE = 2.0  # a kind that counts so many times as much as the others is said to be matched almost alone
MOSTLY, HALF = 0.5, 0.4  # shares of identical words from which a model relies on them, and from which it does by half
HARDLY, PARTLY = 0.25, 0.5  # of the way to an unrelated sentence: what "not" should move, and seldom does
CLOSE, CONFUSED = 0.1, 0.2  # gap of the scores of synonyms and opposites; share of triplets in the wrong order
WELL, SOMEWHAT = 0.8, 0.6  # rank correlations
LARGE, SPECIAL, BESIDE = 3.0, 0.25, 0.1  # from here the parts are to be read with care
CUT = 0.05  # of the pairs
SEEN = 0.005  # of the score: a smaller background is not spoken of
READING = (("hardly reads", "hardly read"), ("partly reads", "partly read"), ("reads", "read"))


@dataclass(frozen=True, slots=True)
class ModelFinding:
    """One thing to remember, and the sections that show it. ``differs``: two models surely differ here."""

    topic: str
    headline: str
    sentence: str
    evidence: tuple[str, ...]
    warns: bool = False
    differs: bool = False


Profiles = Mapping[str, Profile]
Found = ModelFinding | str  # or why there is none


def findings(profiles: Profiles) -> tuple[list[ModelFinding], list[str]]:
    """All findings, what says most first, and what could not be measured and why."""
    every = [topic(profiles) for topic in TOPICS]
    found = [each for each in every if isinstance(each, ModelFinding)]
    order = {each: (not each.differs, not each.warns) for each in found}
    return sorted(found, key=lambda each: order[each]), [each for each in every if isinstance(each, str) and each]


def negation(profiles: Profiles) -> Found:
    known = {name: each.negation for name, each in profiles.items() if each.negation is not None}
    if not known:
        return "Negation was not tested: its test sentences are English, and the corpus was tagged in another language."
    moved = {name: each.moved for name, each in known.items()}
    sentence = (
        f"An added “not” (“The door is not open”) moves a sentence, on the way to an unrelated one, by "
        f"{named({name: f'{each.value:.0%}' for name, each in moved.items()})}; a harmless “now” by "
        f"{also(f'{each.harmless.value:.0%}' for each in known.values())}. A sentence and its own negation score "
        f"{also(f'{each.score.value:.2f}' for each in known.values())}."
    )
    chosen = {name: f"{each.chosen.value:.0%}" for name, each in known.items() if each.chosen is not None}
    if chosen:
        chance = next(each.chance for each in known.values())
        sentence += (
            f" Asked for the right paraphrase of a negated sentence, it is found in {also(chosen.values())} of "
            "the cases; by "
            f"chance it would be {chance:.0%}."
        )
    weakest = min(each.value for each in moved.values())
    one, many = READING[0 if weakest < HARDLY else 1 if weakest < PARTLY else 2]
    headline, differs = compared(
        moved,
        "{more} reads negation better than {less}",
        f"{both(known)} {many} negation",
        f"{{one}} {one} negation",
    )
    return ModelFinding("negation", headline, sentence, ("negation",), weakest < PARTLY, differs)


def opposites(profiles: Profiles) -> Found:
    known = {name: each.opposites for name, each in profiles.items() if each.opposites is not None}
    if not known:
        return (
            "Opposites were not tested: the test sentences are English, and the corpus was tagged in another language."
        )
    cases = len(next(iter(known.values())).confused)
    sentence = (
        f"Two sentences that differ in one word of opposite meaning (“This house is old / young”) score "
        f"{named({name: f'{each.opposites.value:.2f}' for name, each in known.items()})} on average, with a "
        "synonym in its place "
        f"{also(f'{each.synonyms.value:.2f}' for each in known.values())}. The opposite scores at least as high "
        "as the synonym in "
        f"{also(f'{each.confused.value:.0%}' for each in known.values())} of {cases} cases."
    )
    gaps = {
        name: Share(each.synonyms.parts - each.opposites.parts, each.synonyms.wholes) for name, each in known.items()
    }
    warns = any(gaps[name].value < CLOSE or each.confused.value >= CONFUSED for name, each in known.items())
    headline, differs = compared(
        gaps,
        "{more} tells opposites from synonyms better than {less}",
        f"Opposites look alike to {all_of(known)}" if warns else f"{both(known)} tell opposites from synonyms",
        "Opposites look alike to {one}" if warns else "{one} tells opposites from synonyms",
    )
    return ModelFinding("opposites", headline, sentence, ("adjectives",), warns, differs)


def people(profiles: Profiles) -> Found:
    known = {name: each.people for name, each in profiles.items() if each.people is not None}
    if not known:
        return "Agreement with people was not measured: the data has no human scores, or too few."
    ranks = {name: each.ranks for name, each in known.items()}
    count = len(next(iter(ranks.values())))
    sentence = (
        f"Rank correlation with human scores over {count:,} pairs: "
        f"{named({name: f'{each.value:.2f}' for name, each in ranks.items()})} (1: the same order as people, 0: "
        "no relation). "
        f"{also(f'{each.far.value:.0%}' for each in known.values())} of the pairs stand far from their place in "
        "people's order "
        f"(by more than {FAR:.0%} of all pairs)."
    )
    worst = [each.worst for each in known.values() if each.worst is not None]
    if worst:
        where = (
            f"{row['level']} (there {abs(row['too_high']):.2f} too {'high' if row['too_high'] > 0 else 'low'})"
            for row in worst
        )
        sentence += f" On a scale from 0 to 1, scores are farthest off where people score {also(where)}."
    lowest = min(each.value for each in ranks.values())
    degree = "well" if lowest >= WELL else "in part" if lowest >= SOMEWHAT else "little"
    headline, differs = compared(
        ranks,
        "{more} agrees with people more than {less}",
        f"{both(known)} agree with people {degree}",
        f"{{one}} agrees with people {degree}",
    )
    return ModelFinding("people", headline, sentence, ("models", "failures"), lowest < SOMEWHAT, differs)


def kinds(profiles: Profiles) -> Found:
    known = {name: {row["kind"]: row for row in each.kinds} for name, each in profiles.items()}
    content = {name: _content(rows) for name, rows in known.items()}
    if not all(content.values()):
        return "Which kinds of words are matched cannot be said: no two content words of one kind raise a score here."
    if len(profiles) == 1:
        return _kinds_of_one(*content.items())
    weights = [f"{rows[NOUNS]['weight']:.1f}" if NOUNS in rows else "0" for rows in known.values()]
    sentence = (
        f"Pairs of two nouns give {named({name: f'{each.nouns.value:.0%}' for name, each in profiles.items()})} "
        "of what raises "
        f"the scores; such a pair gives {also(weights)} times as much as the average pair."
    )
    headline, differs = compared(
        {name: each.nouns for name, each in profiles.items()},
        "{more} leans on nouns more than {less}",
        f"{both(profiles)} lean on nouns about equally",
        "",
    )
    return ModelFinding("kinds", headline, sentence, ("kinds", "parts_of_speech"), differs=differs)


def _kinds_of_one(content: tuple[str, list[Row]]) -> ModelFinding:
    name, rows = content
    first, *others = sorted(rows, key=lambda row: -float(row["share"]))
    rest = sum(row["share"] for row in others) / (sum(row["share_of_pairs"] for row in others) or 1.0)
    alone = bool(others) and first["weight"] > ALONE * rest
    sentence = (
        f"Pairs of two {first['kind']} give {first['share']:.0%} of what raises the scores but are only "
        f"{first['share_of_pairs']:.0%} of all word pairs: such a pair gives {first['weight']:.1f} times as much "
        "as the average pair."
    )
    if others:
        listed = also([str(row["kind"]) for row in others])
        sentence += f" Pairs of other content words of one kind ({listed}) give {rest:.1f} times as much."
    headline = f"{name} matches little but {first['kind']}" if alone else f"{name} matches {first['kind']} most"
    return ModelFinding("kinds", headline, sentence, ("kinds", "parts_of_speech"), alone)


def identical(profiles: Profiles) -> Found:
    shares = {name: each.identical for name, each in profiles.items()}
    sentence = (
        "Words that stand in both texts, paired with themselves, give "
        f"{named({name: f'{share.value:.0%}' for name, share in shares.items()})} of what raises the scores. The "
        "rest comes from "
        "pairs of different words."
    )
    warns = any(share.value >= MOSTLY for share in shares.values())
    half = max(share.value for share in shares.values()) >= HALF
    rely = "mostly on identical words"
    match = "identical and different words about equally" if half else "different words more than identical ones"
    headline, differs = compared(
        shares,
        "{more} relies on identical words more than {less}",
        f"{both(profiles)} rely {rely}" if warns else f"{both(profiles)} match {match}",
        f"{{one}} relies {rely}" if warns else f"{{one}} matches {match}",
    )
    return ModelFinding("identical", headline, sentence, ("lexical",), warns, differs)


def words(profiles: Profiles) -> Found:
    known = {name: each.words for name, each in profiles.items() if each.words is not None}
    if not known:
        return (
            "Which words weigh most was not measured: too few content words stand in both texts of a pair three "
            "times or more. "
            "Use more pairs."
        )
    lists = {name: f"most {_quoted(each.most)}; least {_quoted(each.fewest)}" for name, each in known.items()}
    several = len(profiles) > 1
    least = max(each.least for each in known.values())
    (first, *_) = known.values()
    sentence = (
        f"Of content words that stand in both texts of a pair at least {least} times, these add to the score: "
        f"{'. '.join(f'{name}: {each}' if several else each for name, each in lists.items())}."
    )
    headline = (
        "Words that weigh most and least with each model"
        if several
        else f"“{first.most[0]}” weighs most, “{first.fewest[0]}” least"
    )
    return ModelFinding("words", headline, sentence, ("lexical",))


def parts(profiles: Profiles) -> Found:
    warns = [
        name
        for name, each in profiles.items()
        if each.size.value > LARGE or each.special.value > SPECIAL or each.background.value > BESIDE
    ]
    sentence = (
        f"Without their signs, the parts of a score sum to "
        f"{named({name: f'{each.size.value:.1f}' for name, each in profiles.items()})} times the score (1: "
        "nothing cancels out). "
        f"{also(f'{each.special.value:.0%}' for each in profiles.values())} of what raises the scores involves "
        "special tokens "
        "such as [CLS], which are no words."
    )
    if any(each.background.value > SEEN for each in profiles.values()):
        sizes = also(f"{each.background.value:.0%}" for each in profiles.values())
        sentence += f" A background that no word pair accounts for has {sizes} of the size of the score."
    errors = [f"{each.error:.1%}" for each in profiles.values() if each.error is not None]
    if errors:
        sentence += (
            f" The method's numerical error is at most {also(errors)} of a text; the background makes up for it."
        )
    headline = (
        f"Read single word pairs of {also(warns)} with care"
        if warns
        else "Word pairs can be read as shares of the score"
    )
    return ModelFinding("parts", headline, sentence, ("parts",), bool(warns))


def cut(profiles: Profiles) -> Found:
    known = {name: each for name, each in profiles.items() if each.cut.value > 0}
    if not known:
        return ""
    shares = {name: f"{each.cut.value:.0%}" for name, each in known.items()}
    sentence = (
        f"{named(shares, len(profiles) > 1)} of the pairs have a text longer than the "
        f"{also(str(each.tokens) for each in known.values())} tokens that the model reads. What lies beyond has "
        "no effect."
    )
    most = max(each.cut.value for each in known.values())
    return ModelFinding("cut", "Some texts are not read to their end", sentence, ("parts",), most > CUT)


TOPICS: Sequence[Callable[[Profiles], Found]] = (negation, kinds, people, opposites, identical, words, parts, cut)


def compared(
    values: Mapping[str, Share] | Mapping[str, Ranks], differing: str, alike: str, single: str
) -> tuple[str, bool]:
    """The headline that fits, and whether models differ surely: the highest from the lowest."""
    if len(values) == 1:
        (one,) = values
        return single.format(one=one), False
    ordered = sorted(values, key=lambda name: -values[name].value)
    more, less = ordered[0], ordered[-1]
    if is_sure(values[more], values[less]):
        return differing.format(more=more, less=less), True
    return alike, False


def named(texts: Mapping[str, str], always: bool = False) -> str:
    """``0.86`` of one model; ``0.86 with A and 0.84 with B`` of several."""
    if len(texts) == 1 and not always:
        return next(iter(texts.values()))
    return also([f"{text} with {name}" for name, text in texts.items()])


def also(texts: Iterable[str]) -> str:
    """Texts in the order of the models: ``9% and 12%``"""
    *others, last = texts
    return f"{', '.join(others)} and {last}" if others else last


def all_of(profiles: Mapping[str, object]) -> str:
    return "both models" if len(profiles) == 2 else "all models"


def both(profiles: Mapping[str, object]) -> str:
    return all_of(profiles).capitalize()


def _content(rows: Mapping[str, Row]) -> list[Row]:
    """Content words of one kind that raise a score."""
    return [rows[kind] for kind in (NOUNS, *CONTENT) if kind in rows and rows[kind]["share"]]


def _quoted(words: Sequence[str]) -> str:
    return ", ".join(f"“{word}”" for word in words)
