"""What colours and numbers mean, in the same words everywhere."""

from __future__ import annotations

from whyalike.render.scene import Scene

RAISES, LOWERS = "raises the score", "lowers it"


def explain_colours(scene: Scene) -> str:
    """What the colour of a word, and a number, stand for."""
    if scene.matched:
        return (
            "The stronger a word's colour, the more it matters for this score. A number says how well two words match."
        )
    number = "A number is what a pair adds to the score"
    share = "; its share is of the score" if scene.finding.whole is not None else ""
    return f"A {scene.unit} has the colour of the sum of its pairs: the stronger, the more. {number}{share}."
