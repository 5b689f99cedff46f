"""How a score is made up: the size of its parts, special tokens, background; and what was not read."""

from __future__ import annotations

from collections.abc import Mapping

from whyalike.analysis.profile import Profile
from whyalike.analysis.section import Column, Row, Section, View


def composition(profiles: Mapping[str, Profile]) -> Section:
    """What tells whether single word pairs can be read as shares of the score."""
    found = {name: _rows(profile) for name, profile in profiles.items()}
    says = [
        f"{name}: pairs of texts score {each.score.value:.2f} on average; the parts of a score add up to it but for "
        f"{each.rounding:.0e}, which is rounding."
        for name, each in profiles.items()
    ]
    return Section(
        "parts",
        "How far the parts can be trusted",
        tuple(says),
        found,
        explained="A score is the sum of its word pairs, and of a background where the method leaves one. Parts "
        "that are much "
        "larger than the score cancel each other out; then a single large part says little. Special tokens such "
        "as [CLS] "
        "gather information on the whole text; what they have cannot be given to a word.",
        views=(
            View(
                "Parts of the scores",
                (Column("what", "measured over all pairs"),),
                (Column("value", "value", "number"),),
                found,
            ),
        ),
    )


def _rows(profile: Profile) -> list[Row]:
    rows = {
        "mean score": profile.score.value,
        "size of all parts without their signs, as a multiple of the score": profile.size.value,
        "share of what raises scores that involves special tokens": profile.special.value,
        "size of the background as a share of the score": profile.background.value,
        "share of pairs with a text longer than the model reads": profile.cut.value,
    }
    if profile.error is not None:
        rows["largest numerical error of the method"] = profile.error
    return [{"what": what, "value": value} for what, value in rows.items()]
